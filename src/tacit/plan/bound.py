"""Bound a question: contribution limits, clamps, and where its keys come from."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from tacit.core.catalog import Catalog
from tacit.core.dataset import Dataset, UnitColumn
from tacit.core.schema import Schema
from tacit.errors import InvalidValue
from tacit.plan.aggregate import Aggregate, CountRows, CountUnits, CountValues, Mean, Sum
from tacit.plan.bound_key import bound_key
from tacit.plan.bounded import BoundedPlan
from tacit.plan.expression import Expression, Field
from tacit.plan.on_grid import condition, number
from tacit.plan.plan import Plan
from tacit.plan.ranged import Ranged
from tacit.plan.reading import MeanReading, Reading, TotalReading
from tacit.plan.relation import Filter, Relation, Scan
from tacit.plan.steps import (
    AllOf,
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


@dataclass(frozen=True, slots=True)
class Bound:
    """A question that an engine can run, and how its answer is read off what comes back."""

    plan: BoundedPlan
    readings: tuple[Reading, ...]


def bound(plan: Plan, catalog: Catalog) -> Bound:
    """``plan`` with every contribution bounded by what the owner declared.

    Guarantee: a function of the question and the catalog alone: no data is read.
    """
    dataset, filters = _source(plan.source, catalog)
    if not isinstance(dataset.unit, UnitColumn):
        raise InvalidValue(
            f"{dataset.name!r} leads to the unit by way of another table, which is not built."
        )
    _without_unit(dataset.unit.column, plan)
    schema = dataset.schema
    keys = tuple(bound_key(key, schema) for key in plan.keys)
    tallies: list[Tally] = []
    if any(key.keys is None for key in keys):
        tallies.append(UnitTally())
    limits = dataset.limits
    readings = tuple(
        _read(measure.aggregate, schema, limits.max_rows, tallies) for measure in plan.measures
    )
    bounded = BoundedPlan(
        dataset=dataset.name,
        unit=dataset.unit.column,
        condition=AllOf(tuple(condition(part, schema) for part in filters)),
        keys=keys,
        max_groups=limits.max_groups if keys else 1,
        max_rows=limits.max_rows,
        tallies=tuple(tallies),
    )
    return Bound(bounded, readings)


def _source(relation: Relation, catalog: Catalog) -> tuple[Dataset, list[Expression]]:
    """The dataset at the bottom, and the conditions above it."""
    match relation:
        case Scan(name):
            return catalog.dataset(name), []
        case Filter(source, wanted):
            dataset, filters = _source(source, catalog)
            return dataset, [*filters, wanted]


def _without_unit(unit: str, plan: Plan) -> None:
    """Refuse a question that names the unit: it is for counting people, not for finding one."""
    if any(mentions(key.expression, unit) for key in plan.keys):
        raise InvalidValue(
            f"{unit!r} names a person; groups of one person are not released. Group by another "
            "column."
        )


def mentions(expression: object, name: str) -> bool:
    """Whether an expression names a column."""
    if isinstance(expression, Field):
        return expression.name == name
    if isinstance(expression, tuple):
        return any(mentions(part, name) for part in expression)
    slots: tuple[str, ...] = getattr(expression, "__slots__", ())
    return any(mentions(getattr(expression, slot), name) for slot in slots)


def _read(aggregate: Aggregate, schema: Schema, max_rows: int, tallies: list[Tally]) -> Reading:
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
            return NotSo(ColumnIsNull(name, schema[name].kind))
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
