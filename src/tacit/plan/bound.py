"""Bound a question: contribution limits, clamps, and where its keys come from."""

from dataclasses import dataclass
from math import prod

from tacit.core.catalog import Catalog
from tacit.errors import InvalidValue
from tacit.plan.bound_key import bound_key
from tacit.plan.bounded import BoundedKey, BoundedPlan
from tacit.plan.expression import Expression, Field
from tacit.plan.like import not_too_many_patterns
from tacit.plan.on_grid import condition
from tacit.plan.plan import Plan
from tacit.plan.read import read
from tacit.plan.reading import Reading
from tacit.plan.relation import Filter, Join, Relation, Scan
from tacit.plan.scope import Scope, scope_of
from tacit.plan.source import source_of
from tacit.plan.steps import AllOf
from tacit.plan.tally import Tally, UnitTally
from tacit.plan.tree import finest

MOST_MEASURES = 100
"""Aggregates of one question."""

MOST_GROUPS = 10**7
"""Public groups of one answer: ten seconds of noise."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A question that an engine can run, and how its answer is read off what comes back."""

    plan: BoundedPlan
    readings: tuple[Reading, ...]


def bound(plan: Plan, catalog: Catalog) -> Bound:
    """``plan`` with every contribution bounded by what the owner declared.

    Guarantee: a function of the question and the catalog alone: no data is read.
    """
    source = source_of(plan.source, catalog)
    scope = scope_of(source.datasets, catalog)
    _without_unit(source.unit, plan, scope)
    not_too_many_patterns(plan, scope)
    keys = tuple(bound_key(key, scope) for key in plan.keys)
    _not_too_many(plan, keys)
    tallies: list[Tally] = []
    if any(key.keys is None for key in keys):
        tallies.append(UnitTally())
    limits = catalog.dataset(source.dataset).limits
    readings = tuple(
        read(measure.aggregate, scope, limits.max_rows, tallies, finest(keys))
        for measure in plan.measures
    )
    bounded = BoundedPlan(
        source=source,
        condition=AllOf(tuple(condition(part, scope) for part in _filters(plan.source))),
        keys=keys,
        max_groups=limits.max_groups if keys else 1,
        max_rows=limits.max_rows,
        tallies=tuple(tallies),
    )
    return Bound(bounded, readings)


def _not_too_many(plan: Plan, keys: tuple[BoundedKey, ...]) -> None:
    """Refuse an answer that nobody could hold: every public group is in it."""
    if len(plan.measures) > MOST_MEASURES:
        raise InvalidValue(f"A question asks for at most {MOST_MEASURES} aggregates.")
    groups = prod(len(key.keys.values) for key in keys if key.keys is not None)
    if groups > MOST_GROUPS:
        raise InvalidValue(f"An answer has at most {MOST_GROUPS} groups; ask for fewer keys.")


def _filters(relation: Relation) -> list[Expression]:
    """The conditions of a relation, from the bottom up."""
    match relation:
        case Scan():
            return []
        case Filter(source, wanted):
            return [*_filters(source), wanted]
        case Join(source, _, _, _):
            return _filters(source)


def _without_unit(unit: str, plan: Plan, scope: Scope) -> None:
    """Refuse a question that names the unit: it is for counting people, not for finding one."""
    if any(mentions(key.expression, unit, scope) for key in plan.keys):
        raise InvalidValue(
            f"{unit!r} names a person; groups of one person are not released. Group by another "
            "column."
        )


def mentions(expression: object, name: str, scope: Scope) -> bool:
    """Whether an expression names a column."""
    if isinstance(expression, Field):
        return scope[expression.name].name == name
    if isinstance(expression, tuple):
        return any(mentions(part, name, scope) for part in expression)
    slots: tuple[str, ...] = getattr(expression, "__slots__", ())
    return any(mentions(getattr(expression, slot), name, scope) for slot in slots)
