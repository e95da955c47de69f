"""Columns in the form in which models compute with them.

An `Axis` is a numeric feature or target as an integer around a public centre. A `ScaledColumn`
is a column after a standard scaler, whose mean and scale were released before. `label_steps`
turns a class label into its index in a public list of classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from tacit.core import Bounds, Column, Key, Keys, Kind
from tacit.errors import InvalidValue
from tacit.numeric import Grid, exact
from tacit.plan import steps as grid_steps
from tacit.plan.bounded_plan import StepsKey
from tacit.plan.expression import Comparison, Value
from tacit.plan.lowering import compare_column
from tacit.plan.tally import columns_of
from tacit.plan.type_check import NUMBERS


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledColumn(Column):
    """A column after a scaler: (value - mean) / scale. It has no declared bounds.

    ``own`` is the unscaled column, and ``within`` are its public bounds.

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
        """Return the column ``own``, clamped to ``within``, after centring and scaling."""
        return cls(own.name, Kind.FLOAT, own=own, within=within, mean=mean, scale=scale)


# Numeric columns -----------------------------------------------------------------------------

REACH = 2**26
"""Largest distance of a column from its centre, in steps. Most columns come close to it.

Products of two columns, summed over a thousand columns or over a thousand rows of a unit, fit
in 62 bits.
"""

FINE_STEPS = 2**19
"""Smallest number of steps in the range of a float column. Other columns have at most twice as
many."""


SCALED_BITS = 60
"""Number of bits in which a scaled column is computed, before it is rounded to its steps."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A column between public bounds, in integers from ``-reach`` to ``reach``.

    The integer v represents the value ``centre + v * unit``, up to rounding. Values outside the
    bounds are clamped, and a float that is not finite is NULL.

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
        """Return the axis of ``column``: its values, clamped to ``bounds``, as integers.

        0 is the centre, which is ``around`` or the middle of the bounds.

        The centre is rounded down to a step.

        Guarantee: only the model's own public ``bounds`` are used. Bounds that are declared for
        the column have no effect.
        """
        if bounds.lower == bounds.upper:
            raise InvalidValue(
                f"The bounds of {column.name!r} contain only one value; widen them, or leave "
                "the column out."
            )
        value, lowest = _from_its_lowest(column, bounds)
        if value.high == 0:
            raise InvalidValue(
                f"The bounds of {column.name!r} are less than one step of the column apart; "
                "widen them, or leave the column out."
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
    def not_null(self) -> grid_steps.Negation:
        """The condition that the column of a row is not NULL."""
        (column,) = columns_of(self.steps)
        if isinstance(column, grid_steps.ColumnSteps):
            return grid_steps.Negation(grid_steps.ColumnIsNull(column.name, column.kind))
        return grid_steps.Negation(grid_steps.StepsAreNull(column))

    def value(self, steps: int) -> Fraction:
        """Return the value that a number of steps represents."""
        return self.centre + steps * self.unit


def _from_its_lowest(column: Column, bounds: Bounds) -> tuple[grid_steps.Ranged, Fraction]:
    """Return the column in steps that start at 0, and the value that 0 represents.

    Steps are merged in pairs until there are fewer than twice `FINE_STEPS`.
    """
    if isinstance(column, ScaledColumn):
        return _scaled_steps(column, bounds), bounds.lower
    grid = _grid(column, bounds)
    if column.kind is Kind.BOOLEAN:
        true = grid_steps.ColumnIsTrue(column.name)
        whens = (
            (true, grid_steps.WholeSteps(1)),
            (grid_steps.Negation(true), grid_steps.WholeSteps(0)),
        )
        value = grid_steps.Ranged(
            grid_steps.CaseSteps(whens, grid_steps.WholeSteps(None)), 0, 1, Fraction(1)
        )
    else:
        index = grid_steps.ColumnSteps(column.name, column.kind, grid)
        value = grid_steps.Ranged(index, grid.lowest, grid.highest, grid.step).above(
            grid.lowest
        )
    value = value.coarsen(max(0, (value.high // FINE_STEPS).bit_length() - 1))
    return value, grid.lowest * grid.step


def _scaled_steps(column: ScaledColumn, bounds: Bounds) -> grid_steps.Ranged:
    """Return a scaled column within ``bounds``, in a number of steps that is fixed in advance.

    The number of steps does not depend on the mean and the scale. The sensitivity of sums over
    the column, and so their price, is therefore known before mean and scale are released.
    """
    own, lowest = _from_its_lowest(column.own, column.within)
    step = bounds.width / FINE_STEPS
    # Noise can make the released scale close to 0. It is raised to the resolution of the column
    # and to a size for which the arithmetic below fits in 62 bits: after a release, no value of
    # the scale may cause a failure.
    fits = 4 * column.within.width / (step * 2 ** (SCALED_BITS - 2))
    scale = max(column.scale, column.within.width / FINE_STEPS, fits)
    slope = own.step / (scale * step)
    start = (lowest - column.mean - scale * bounds.lower) / (scale * step)
    reach = (own.high * slope + abs(start) + 1).__ceil__()
    # the end of the range has to fit in the same number of bits
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
            f"{column.name!r} is a {column.kind.value} column; columns of a model must be "
            "numbers or Booleans."
        )
    return Grid(bounds.lower, bounds.upper, column.step or Fraction(1))


# Class labels --------------------------------------------------------------------------------


def label_key(column: Column, classes: Sequence[Key]) -> StepsKey:
    """Return a key that groups rows by the index of their label in the public ``classes``.

    Rows with another label are in no group.

    Example:
        >>> label_key(Column("ward", Kind.TEXT), ["north", "south"]).keys.values
        (0, 1)
    """
    return StepsKey("class", label_steps(column, classes), Keys(tuple(range(len(classes)))))


def label_steps(column: Column, classes: Sequence[Key]) -> grid_steps.CaseSteps:
    """Return the index of a row's label in the public ``classes``; NULL for other labels.

    Example:
        >>> steps = label_steps(Column("ward", Kind.TEXT), ["north", "south"])
        >>> [when.values for when, _ in steps.whens], steps.otherwise.value
        ([('north',), ('south',)], None)
    """
    labels = [_label_of(column, each) for each in classes]
    whens = [(_is(column, label), grid_steps.WholeSteps(at)) for at, label in enumerate(labels)]
    return grid_steps.CaseSteps(tuple(whens), grid_steps.WholeSteps(None))


def _label_of(column: Column, label: object) -> Value:
    """Return a class as a constant of the kind of ``column``; refuse another kind.

    Numbers have one form, so that 1, 1.0 and TRUE give the same condition: to Python they are
    equal, and statements are cached by their plans.

    Example:
        >>> [_label_of(Column("x", Kind.INTEGER), label) for label in (1, 1.0, True)]
        [1, 1, 1]
    """
    if column.kind is Kind.BOOLEAN:
        return bool(label)
    if isinstance(label, str) and column.kind is Kind.TEXT:
        return label
    if not isinstance(label, int | float | Fraction) or column.kind is Kind.TEXT:
        raise InvalidValue(
            f"The classes of {column.name!r} must have its kind, {column.kind.value}, but "
            f"{label!r} is one of them."
        )
    value = exact(int(label) if isinstance(label, bool) else label)
    compare_column(Comparison.EQUAL, column, value)  # refuses what an engine cannot compare
    return int(value) if value.denominator == 1 else value


def _is(column: Column, label: Value) -> grid_steps.Condition:
    if column.kind is not Kind.BOOLEAN:
        return grid_steps.ColumnOneOf(column.name, column.kind, (label,))
    true = grid_steps.ColumnIsTrue(column.name)
    return true if label else grid_steps.Negation(true)
