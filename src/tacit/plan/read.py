"""Which tallies an aggregate needs, and how its answer is read off them."""

from collections.abc import Callable
from fractions import Fraction

from tacit.core.schema import Schema
from tacit.plan.aggregate import Aggregate, CountRows, CountUnits, CountValues, Mean, Sum
from tacit.plan.expression import Expression, Field
from tacit.plan.on_grid import number
from tacit.plan.ranged import Ranged
from tacit.plan.reading import MeanReading, Reading, TotalReading
from tacit.plan.steps import (
    CaseSteps,
    ColumnIsNull,
    Condition,
    Known,
    NotSo,
    StepsAreNull,
    SumSteps,
    WholeSteps,
)
from tacit.plan.tally import KeptTally, RowTally, Tally, TotalTally, UnitTally


def read(aggregate: Aggregate, schema: Schema, max_rows: int, tallies: list[Tally]) -> Reading:
    """How ``aggregate`` is read; the tallies that it needs are added where they are missing."""

    def place(tally: Tally) -> int:
        if tally not in tallies:
            tallies.append(tally)
        return tallies.index(tally)

    one = Fraction(1)
    match aggregate:
        case CountUnits():
            return TotalReading(place(UnitTally()), one)
        case CountRows():
            return TotalReading(place(RowTally(Known(True), max_rows)), one)
        case CountValues(argument):
            return TotalReading(place(RowTally(_present(argument, schema), max_rows)), one)
        case Sum(argument):
            value = number(argument, schema)
            low, high = min(0, value.low * max_rows), max(0, value.high * max_rows)
            return TotalReading(place(TotalTally(value.steps, low, high)), value.step)
        case Mean(argument):
            return _mean(number(argument, schema), max_rows, place)


def _present(argument: Expression, schema: Schema) -> Condition:
    match argument:
        case Field(name):
            return NotSo(ColumnIsNull(schema[name].name, schema[name].kind))
        case _:
            return NotSo(StepsAreNull(number(argument, schema).steps))


def _mean(value: Ranged, max_rows: int, place: Callable[[Tally], int]) -> MeanReading:
    """A mean from a centred sum and a count: centring halves what one unit can move."""
    centre = (value.low + value.high) // 2
    offset = SumSteps(value.steps, WholeSteps(-centre))
    low, high = (value.low - centre) * max_rows, (value.high - centre) * max_rows
    there = NotSo(StepsAreNull(value.steps))
    counted = CaseSteps(((there, WholeSteps(1)),), WholeSteps(0))
    return MeanReading(
        total=place(KeptTally(offset, low, high)),
        count=place(KeptTally(counted, 0, max_rows)),
        centre=centre * value.step,
        step=value.step,
        low=value.low * value.step,
        high=value.high * value.step,
    )
