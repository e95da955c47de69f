"""A column as a model computes with it: integers around a public centre, all equally wide."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from tacit.core.bounds import Bounds
from tacit.core.column import Column, Kind
from tacit.errors import InvalidValue
from tacit.numeric.grid import Grid
from tacit.plan.expression import Comparison
from tacit.plan.kind import NUMBERS
from tacit.plan.ranged import Ranged
from tacit.plan.row_value import columns_of
from tacit.plan.scaled_column import ScaledColumn
from tacit.plan.steps import (
    CaseSteps,
    ColumnIsNull,
    ColumnIsTrue,
    ColumnSteps,
    CompareSteps,
    HalvedSteps,
    NotSo,
    Steps,
    StepsAreNull,
    WholeSteps,
)

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

    steps: Steps
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
        placed = Ranged.constant(Fraction(factor)) * value.above(start)
        return cls(
            steps=placed.steps,
            reach=max(abs(placed.low), abs(placed.high)),
            centre=lowest + start * value.step,
            unit=value.step / factor,
        )

    @property
    def there(self) -> NotSo:
        """Whether a row has a number here: whether its column does."""
        (column,) = columns_of(self.steps)
        if isinstance(column, ColumnSteps):
            return NotSo(ColumnIsNull(column.name, column.kind))
        return NotSo(StepsAreNull(column))

    def value(self, steps: int) -> Fraction:
        """What a number of steps stands for."""
        return self.centre + steps * self.unit


def _from_its_lowest(column: Column, bounds: Bounds) -> tuple[Ranged, Fraction]:
    """The column in steps from 0 on, not many more than are needed, and what 0 stands for."""
    if isinstance(column, ScaledColumn):
        return _scaled(column, bounds), bounds.lower
    grid = _grid(column, bounds)
    if column.kind is Kind.BOOLEAN:
        true = ColumnIsTrue(column.name)
        whens = ((true, WholeSteps(1)), (NotSo(true), WholeSteps(0)))
        value = Ranged(CaseSteps(whens, WholeSteps(None)), 0, 1, Fraction(1))
    else:
        index = ColumnSteps(column.name, column.kind, grid)
        value = Ranged(index, grid.lowest, grid.highest, grid.step).above(grid.lowest)
    value = value.halved(max(0, (value.high // FINE_STEPS).bit_length() - 1))
    return value, grid.lowest * grid.step


def _scaled(column: ScaledColumn, bounds: Bounds) -> Ranged:
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
    whole = Ranged(own.steps, 0, own.high, Fraction(1))
    line = Ranged.constant(Fraction(round(slope * 2**times))) * whole
    line += Ranged.constant(Fraction(round((start + Fraction(1, 2)) * 2**times)))
    top = WholeSteps(FINE_STEPS << times)
    below = CompareSteps(Comparison.AT_MOST, line.steps, WholeSteps(0))
    above = CompareSteps(Comparison.AT_LEAST, line.steps, top)
    inside = CaseSteps(((below, WholeSteps(0)), (above, top)), line.steps)
    return Ranged(HalvedSteps(inside, times), 0, FINE_STEPS, step)


def _grid(column: Column, bounds: Bounds) -> Grid:
    if column.kind is Kind.FLOAT:
        return Grid.fine(bounds.lower, bounds.upper, FINE_STEPS)
    if column.kind not in {*NUMBERS, Kind.BOOLEAN}:
        raise InvalidValue(
            f"{column.name!r} holds {column.kind.value}s; a model computes with numbers and "
            "truths."
        )
    return Grid(bounds.lower, bounds.upper, column.step or Fraction(1))
