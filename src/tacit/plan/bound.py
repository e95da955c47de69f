"""Bound a question: contribution limits, clamps, and where its keys come from."""

from dataclasses import dataclass

from tacit.core.catalog import Catalog
from tacit.core.dataset import Dataset, UnitColumn
from tacit.errors import InvalidValue
from tacit.plan.bound_key import bound_key
from tacit.plan.bounded import BoundedPlan
from tacit.plan.expression import Expression, Field
from tacit.plan.on_grid import condition
from tacit.plan.plan import Plan
from tacit.plan.read import read
from tacit.plan.reading import Reading
from tacit.plan.relation import Filter, Relation, Scan
from tacit.plan.steps import AllOf
from tacit.plan.tally import Tally, UnitTally


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
        read(measure.aggregate, schema, limits.max_rows, tallies) for measure in plan.measures
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
