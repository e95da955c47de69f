"""Which tallies an aggregate needs, and how its answer is read off them."""

from fractions import Fraction

from tacit.core.schema import Schema
from tacit.plan.aggregate import (
    Aggregate,
    CountRows,
    CountUnits,
    CountValues,
    Deviation,
    Greatest,
    Least,
    Mean,
    Quantile,
    Sum,
    Variance,
)
from tacit.plan.expression import Expression, Field
from tacit.plan.held import Held
from tacit.plan.moment import mean, variance
from tacit.plan.on_grid import number
from tacit.plan.ranged import Ranged
from tacit.plan.reading import Cells, ExtremeReading, QuantileReading, Reading, TotalReading
from tacit.plan.steps import ColumnIsNull, Condition, Known, NotSo, StepsAreNull
from tacit.plan.tally import RowTally, Tally, TotalTally, UnitTally
from tacit.plan.tree import FINEST, grid, tree


def read(
    aggregate: Aggregate,
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

    def planted(argument: Expression) -> tuple[int, Cells]:
        made, cells = tree(number(argument, schema), max_rows, most)
        return place(made), cells

    one = Fraction(1)
    match aggregate:
        case CountUnits():
            return TotalReading(place(UnitTally()), one)
        case CountRows():
            return TotalReading(place(RowTally(Known(True), max_rows)), one)
        case CountValues(argument):
            return TotalReading(place(RowTally(present(argument, schema), max_rows)), one)
        case Sum(argument):
            value = number(argument, schema)
            low, high = min(0, value.low * max_rows), max(0, value.high * max_rows)
            summed = Ranged(value.steps, low, high, value.step)  # refused beyond 62 bits
            total = place(TotalTally(summed.steps, low, high))
            return TotalReading(total, value.step, value.rounding)
        case Mean(argument):
            return mean(number(argument, schema), max_rows, place)
        case Variance(argument, sample):
            value = number(argument, schema)
            return variance(value, max_rows, place, sample=sample, root=False)
        case Deviation(argument, sample):
            value = number(argument, schema)
            return variance(value, max_rows, place, sample=sample, root=True)
        case Quantile(argument, fraction):
            value = number(argument, schema)
            counts, cells = grid(value, max_rows, most, fraction)
            return QuantileReading(place(counts), fraction, cells)
        case Least(argument):
            found, cells = planted(argument)
            return ExtremeReading(found, False, cells)
        case Greatest(argument):
            found, cells = planted(argument)
            return ExtremeReading(found, True, cells)


def present(argument: Expression, schema: Schema) -> Condition:
    """Whether ``argument`` is not NULL."""
    match argument:
        case Field(name) if not isinstance(schema[name], Held):
            column = schema[name]
            return NotSo(ColumnIsNull(column.name, column.kind))
        case _:
            return NotSo(StepsAreNull(number(argument, schema).steps))
