"""The shape of a tree of counts: a public grid over a number's range, and the nodes above."""

from collections.abc import Callable
from fractions import Fraction
from math import prod

from tacit.core import Schema
from tacit.plan import plan as nodes
from tacit.plan import steps as grid_steps
from tacit.plan.bounded_plan import BoundedKey
from tacit.plan.expression import Expression, Field
from tacit.plan.lowering import number
from tacit.plan.tally import (
    ExtremeReading,
    KeptTally,
    MeanReading,
    QuantileReading,
    Reading,
    RowTally,
    Tally,
    TotalReading,
    TotalTally,
    TreeCells,
    TreeTally,
    UnitTally,
    VarianceReading,
)

FINEST = 12
"""Halvings of a range that a grid has at most: 4,096 cells."""

SECRET_FINEST = 8
"""The same where the groups are secret, and so is how many trees there will be."""

MOST_NODES = 2**20
"""Counts of one tree in all groups together: a second of noise, or some of choosing."""

BRANCHINGS = (1, 2, 3, 4)
"""Halvings of one level: from 2 to 16 children."""


def finest(keys: tuple[BoundedKey, ...]) -> int:
    """How often the range of a number may be halved, by the groups that an answer has.

    Example:
        >>> finest(())
        12
    """
    groups = prod(1 if key.keys is None else len(key.keys.values) for key in keys)
    most = SECRET_FINEST if any(key.keys is None for key in keys) else FINEST
    return max(1, min(most, (MOST_NODES // (2 * groups)).bit_length()))


def shape(halvings: int) -> tuple[int, int]:
    """The halvings of a level, and the levels, with the least noise in a rank.

    A unit moves one node a level, so that noise has a variance of ``levels``; a rank adds up to
    ``branching - 1`` nodes a level.

    Example:
        >>> shape(12), shape(1)
        ((2, 6), (1, 1))
    """
    found = [(each, -(-halvings // each)) for each in BRANCHINGS]
    return min(found, key=lambda part: ((2 ** part[0] - 1) * part[1] ** 2, part[0] * part[1]))


def tree(value: grid_steps.Ranged, max_rows: int, most: int) -> tuple[TreeTally, TreeCells]:
    """The tree that counts ``value`` on a grid of its own steps, or of coarser ones.

    ``most`` is how often its range may be halved.
    """
    wanted = max(1, (value.high - value.low).bit_length())
    each, levels = shape(min(wanted, most))
    cell, cells = _placed(value, max(0, wanted - each * levels))
    return TreeTally(cell, levels, 2**each, max_rows), cells


def grid(
    value: grid_steps.Ranged, max_rows: int, most: int, quantile: Fraction
) -> tuple[TreeTally, TreeCells]:
    """The counts of ``value`` on such a grid alone, from which a ``quantile`` is chosen."""
    whole = value.high - value.low
    times = max(0, whole.bit_length() - most)
    cell, cells = _placed(value, times)
    return TreeTally(cell, 1, (whole >> times) + 1, max_rows, quantile=quantile), cells


def _placed(value: grid_steps.Ranged, times: int) -> tuple[grid_steps.Steps, TreeCells]:
    """The cell of a number, whose steps are halved ``times`` times, and what it stands for."""
    whole = value.above(value.low)
    cell = grid_steps.HalvedSteps(whole.steps, times) if times else whole.steps
    return cell, TreeCells(value.low, value.high, 2**times, value.step, value.rounding)


# ------------------------------------------------------------------ moment
# Means and variances from centred sums and counts, over the rows that a unit keeps.

Place = Callable[[Tally], int]
"""Where a tally stands among those of a question; it is added where it is missing."""


def mean(value: grid_steps.Ranged, max_rows: int, place: Place) -> MeanReading:
    """A mean from a centred sum and a count: centring halves what one unit can move."""
    centre = (value.low + value.high) // 2
    there = grid_steps.NotSo(grid_steps.StepsAreNull(value.steps))
    counted = grid_steps.CaseSteps(
        ((there, grid_steps.WholeSteps(1)),), grid_steps.WholeSteps(0)
    )
    return MeanReading(
        total=place(_kept(value.above(centre), max_rows)),
        count=place(KeptTally(counted, 0, max_rows)),
        centre=centre * value.step,
        step=value.step,
        low=value.low * value.step,
        high=value.high * value.step,
        rounding=value.rounding,
    )


def variance(
    value: grid_steps.Ranged, max_rows: int, place: Place, *, sample: bool, root: bool
) -> VarianceReading:
    """A variance from the mean's tallies and the squares around a centre.

    The squares too are centred on the middle of their range, which halves what one unit moves.
    Where they would not fit 62 bits, they are taken on a coarser grid.
    """
    coarse = _coarse(value.above(value.low), max_rows)
    centre = (coarse.low + coarse.high) // 2
    offset = coarse.above(centre)
    farthest = max(-offset.low, offset.high) ** 2
    square = grid_steps.Ranged((offset * offset).steps, 0, farthest, offset.step**2)
    middle = farthest // 2
    away = offset.size
    return VarianceReading(
        mean=mean(value, max_rows, place),
        squares=place(_kept(square.above(middle), max_rows)),
        centre=value.low * value.step + centre * coarse.step,
        middle=middle * square.step,
        step=square.step,
        rounding=coarse.rounding * (2 * away + coarse.rounding),
        sample=sample,
        root=root,
    )


def _kept(value: grid_steps.Ranged, max_rows: int) -> KeptTally:
    low, high = min(0, value.low * max_rows), max(0, value.high * max_rows)
    return KeptTally(grid_steps.Ranged(value.steps, low, high, value.step).steps, low, high)


def _coarse(value: grid_steps.Ranged, max_rows: int) -> grid_steps.Ranged:
    """``value``, never below 0, in the finest steps whose squares fit."""
    times = 0
    while max_rows * ((value.high >> times) // 2 + 2) ** 2 >= grid_steps.ROOM:
        times += 1
    return value.halved(times)


# ------------------------------------------------------------------ read
# Which tallies an aggregate needs, and how its answer is read off them.


def read(
    aggregate: nodes.Aggregate,
    schema: Schema,
    max_rows: int,
    tallies: list[Tally],
    most: int = FINEST,
) -> Reading:
    """How ``aggregate`` is read; the tallies that it needs are added where they are missing.

    ``most`` is how often the range of a number may be halved where it is put on a grid.
    """

    def place(tally: Tally) -> int:
        if tally not in tallies:
            tallies.append(tally)
        return tallies.index(tally)

    def planted(argument: Expression) -> tuple[int, TreeCells]:
        made, cells = tree(number(argument, schema), max_rows, most)
        return place(made), cells

    one = Fraction(1)
    match aggregate:
        case nodes.CountUnits():
            return TotalReading(place(UnitTally()), one)
        case nodes.CountRows():
            return TotalReading(
                place(RowTally(grid_steps.ConstantCondition(True), max_rows)), one
            )
        case nodes.CountValues(argument):
            return TotalReading(place(RowTally(present(argument, schema), max_rows)), one)
        case nodes.Sum(argument):
            value = number(argument, schema)
            low, high = min(0, value.low * max_rows), max(0, value.high * max_rows)
            summed = grid_steps.Ranged(
                value.steps, low, high, value.step
            )  # refused beyond 62 bits
            total = place(TotalTally(summed.steps, low, high))
            return TotalReading(total, value.step, value.rounding)
        case nodes.Mean(argument):
            return mean(number(argument, schema), max_rows, place)
        case nodes.Variance(argument, sample):
            value = number(argument, schema)
            return variance(value, max_rows, place, sample=sample, root=False)
        case nodes.Deviation(argument, sample):
            value = number(argument, schema)
            return variance(value, max_rows, place, sample=sample, root=True)
        case nodes.Quantile(argument, fraction):
            value = number(argument, schema)
            counts, cells = grid(value, max_rows, most, fraction)
            return QuantileReading(place(counts), fraction, cells)
        case nodes.Least(argument):
            found, cells = planted(argument)
            return ExtremeReading(found, False, cells)
        case nodes.Greatest(argument):
            found, cells = planted(argument)
            return ExtremeReading(found, True, cells)


def present(argument: Expression, schema: Schema) -> grid_steps.Condition:
    """Whether ``argument`` is not NULL."""
    match argument:
        case Field(name) if not isinstance(schema[name], grid_steps.ComputedColumn):
            column = schema[name]
            return grid_steps.NotSo(grid_steps.ColumnIsNull(column.name, column.kind))
        case _:
            return grid_steps.NotSo(grid_steps.StepsAreNull(number(argument, schema).steps))
