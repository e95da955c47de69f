"""A column less a mean, in units of a deviation, both of which were released before."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from tacit.core import Bounds, Column, Key, Keys, Kind
from tacit.errors import InvalidValue
from tacit.numeric import Grid
from tacit.plan import steps as grid_steps
from tacit.plan.bounded_plan import StepsKey
from tacit.plan.expression import Comparison
from tacit.plan.tally import columns_of
from tacit.plan.type_check import NUMBERS


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledColumn(Column):
    """What a model sees of a column after a scaler: no bounds are declared of it.

    ``within`` are the public bounds of the column itself.

    Example:
        >>> age = Column("age", Kind.INTEGER)
        >>> ScaledColumn.of(age, Bounds.of(0, 120), Fraction(40), Fraction(20)).bounds is None
        True
    """

    own: Column
    within: Bounds
    mean: Fraction
    scale: Fraction

    @classmethod
    def of(cls, own: Column, within: Bounds, mean: Fraction, scale: Fraction) -> Self:
        """``own``, whose values lie ``within`` bounds, less a mean and divided by a scale."""
        return cls(own.name, Kind.FLOAT, own=own, within=within, mean=mean, scale=scale)


# ------------------------------------------------------------------ axis
# A column as a model computes with it: integers around a public centre, all equally wide.

REACH = 2**26
"""No column is farther from its centre, in steps; hardly any is less far at its end.

Products of two, summed over a thousand columns or a thousand rows of a unit, fit 62 bits.
"""

FINE_STEPS = 2**19
"""Steps that the range of a float gets at least, and others at most twice."""


SCALED_BITS = 60
"""A scaled column is computed in so many bits, and then cut to its steps."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A column between public bounds, in integers from ``-reach`` to ``reach``.

    A row whose integer is v holds ``centre + v * unit``, up to rounding; what is beyond the
    bounds is clamped, and what is no number is NULL.

    Example:
        >>> age = Axis.of(Column("people.age", Kind.INTEGER), Bounds.of(0, 120))
        >>> age.centre, age.reach, age.value(age.reach)
        (Fraction(60, 1), 67108860, Fraction(120, 1))
    """

    steps: grid_steps.Steps
    reach: int
    centre: Fraction
    unit: Fraction

    @classmethod
    def of(cls, column: Column, bounds: Bounds, around: Fraction | None = None) -> Self:
        """``column`` within ``bounds``, around their middle or the step nearest to ``around``.

        Guarantee: the bounds are the model's own and public; those of the column, if it has
        any, are not looked at.
        """
        if bounds.lower == bounds.upper:
            raise InvalidValue(
                f"{column.name!r} has one value alone within its bounds; widen them, or leave "
                "it out."
            )
        value, lowest = _from_its_lowest(column, bounds)
        if value.high == 0:
            raise InvalidValue(
                f"{column.name!r} has no two values between its bounds, which are nearer than "
                "one step of the column; widen them, or leave it out."
            )
        middle = Fraction(value.high, 2)
        if around is not None:
            middle = (around - bounds.lower) / value.step
        start = middle.__floor__()
        factor = max(1, REACH // max(abs(start), abs(value.high - start)))
        placed = grid_steps.Ranged.constant(Fraction(factor)) * value.above(start)
        return cls(
            steps=placed.steps,
            reach=max(abs(placed.low), abs(placed.high)),
            centre=lowest + start * value.step,
            unit=value.step / factor,
        )

    @property
    def there(self) -> grid_steps.NotSo:
        """Whether a row has a number here: whether its column does."""
        (column,) = columns_of(self.steps)
        if isinstance(column, grid_steps.ColumnSteps):
            return grid_steps.NotSo(grid_steps.ColumnIsNull(column.name, column.kind))
        return grid_steps.NotSo(grid_steps.StepsAreNull(column))

    def value(self, steps: int) -> Fraction:
        """What a number of steps stands for."""
        return self.centre + steps * self.unit


def _from_its_lowest(column: Column, bounds: Bounds) -> tuple[grid_steps.Ranged, Fraction]:
    """The column in steps from 0 on, not many more than are needed, and what 0 stands for."""
    if isinstance(column, ScaledColumn):
        return _scaled(column, bounds), bounds.lower
    grid = _grid(column, bounds)
    if column.kind is Kind.BOOLEAN:
        true = grid_steps.ColumnIsTrue(column.name)
        whens = (
            (true, grid_steps.WholeSteps(1)),
            (grid_steps.NotSo(true), grid_steps.WholeSteps(0)),
        )
        value = grid_steps.Ranged(
            grid_steps.CaseSteps(whens, grid_steps.WholeSteps(None)), 0, 1, Fraction(1)
        )
    else:
        index = grid_steps.ColumnSteps(column.name, column.kind, grid)
        value = grid_steps.Ranged(index, grid.lowest, grid.highest, grid.step).above(
            grid.lowest
        )
    value = value.halved(max(0, (value.high // FINE_STEPS).bit_length() - 1))
    return value, grid.lowest * grid.step


def _scaled(column: ScaledColumn, bounds: Bounds) -> grid_steps.Ranged:
    """A scaled column within ``bounds``, in as many steps whatever its mean and scale are.

    So what is charged for its sums was known before those were released.
    """
    own, lowest = _from_its_lowest(column.own, column.within)
    step = bounds.width / FINE_STEPS
    # a deviation that noise made next to nothing: no finer than the column's own steps tell,
    # and no smaller than fits the bits, whatever was released: nothing may fail after that
    fits = 4 * column.within.width / (step * 2 ** (SCALED_BITS - 2))
    scale = max(column.scale, column.within.width / FINE_STEPS, fits)
    slope = own.step / (scale * step)
    start = (lowest - column.mean - scale * bounds.lower) / (scale * step)
    reach = (own.high * slope + abs(start) + 1).__ceil__()
    # the end of the range, in as fine steps, fits the bits too
    times = max(0, SCALED_BITS - max(reach.bit_length(), FINE_STEPS.bit_length()))
    whole = grid_steps.Ranged(own.steps, 0, own.high, Fraction(1))
    line = grid_steps.Ranged.constant(Fraction(round(slope * 2**times))) * whole
    line += grid_steps.Ranged.constant(Fraction(round((start + Fraction(1, 2)) * 2**times)))
    top = grid_steps.WholeSteps(FINE_STEPS << times)
    below = grid_steps.CompareSteps(Comparison.AT_MOST, line.steps, grid_steps.WholeSteps(0))
    above = grid_steps.CompareSteps(Comparison.AT_LEAST, line.steps, top)
    inside = grid_steps.CaseSteps(((below, grid_steps.WholeSteps(0)), (above, top)), line.steps)
    return grid_steps.Ranged(grid_steps.HalvedSteps(inside, times), 0, FINE_STEPS, step)


def _grid(column: Column, bounds: Bounds) -> Grid:
    if column.kind is Kind.FLOAT:
        return Grid.fine(bounds.lower, bounds.upper, FINE_STEPS)
    if column.kind not in {*NUMBERS, Kind.BOOLEAN}:
        raise InvalidValue(
            f"{column.name!r} holds {column.kind.value}s; a model computes with numbers and "
            "truths."
        )
    return Grid(bounds.lower, bounds.upper, column.step or Fraction(1))


# ------------------------------------------------------------------ labels
# A target of classes as a model computes with it: the place of a class in a public list.


def label_key(column: Column, classes: Sequence[Key]) -> StepsKey:
    """Groups of rows by the public ``classes``, under their places; others are in none.

    Example:
        >>> label_key(Column("ward", Kind.TEXT), ["north", "south"]).keys.values
        (0, 1)
    """
    return StepsKey("class", label_steps(column, classes), Keys(tuple(range(len(classes)))))


def label_steps(column: Column, classes: Sequence[Key]) -> grid_steps.CaseSteps:
    """Which of the public ``classes`` a row is of, from 0 on; NULL for what is none of them.

    Example:
        >>> steps = label_steps(Column("ward", Kind.TEXT), ["north", "south"])
        >>> [when.values for when, _ in steps.whens], steps.otherwise.value
        ([('north',), ('south',)], None)
    """
    if column.kind is not Kind.BOOLEAN and any(
        isinstance(label, str) is not (column.kind is Kind.TEXT) for label in classes
    ):
        raise InvalidValue(
            f"{column.name!r} holds {column.kind.value}s, and its classes are: "
            f"{', '.join(map(repr, classes))}."
        )
    whens = [
        (_is(column, label), grid_steps.WholeSteps(at)) for at, label in enumerate(classes)
    ]
    return grid_steps.CaseSteps(tuple(whens), grid_steps.WholeSteps(None))


def _is(column: Column, label: Key) -> grid_steps.Condition:
    if column.kind is not Kind.BOOLEAN:
        return grid_steps.ColumnOneOf(column.name, column.kind, (label,))
    true = grid_steps.ColumnIsTrue(column.name)
    return true if label else grid_steps.NotSo(true)
