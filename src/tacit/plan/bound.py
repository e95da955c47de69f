"""Bound a question: contribution limits, clamps, and where its keys come from."""

from dataclasses import dataclass
from math import prod

from tacit.core.catalog import Catalog
from tacit.core.dataset import Limits
from tacit.errors import InvalidValue
from tacit.plan.bound_key import bound_key
from tacit.plan.bounded import BoundedKey, BoundedPlan
from tacit.plan.expression import Field
from tacit.plan.gather import gather
from tacit.plan.like import not_too_many_patterns
from tacit.plan.plan import Plan
from tacit.plan.read import read
from tacit.plan.reading import Reading
from tacit.plan.relation import per_unit_in
from tacit.plan.scope import Scope, scope_of
from tacit.plan.tally import Tally, UnitTally
from tacit.plan.term_count import not_too_many_terms
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
    rows = gather(plan.source, catalog)
    scope, limits = rows.scope, rows.limits
    _without_unit(rows.source.unit, plan, scope)
    # patterns stand below too, where other columns are seen
    tables = tuple(dict.fromkeys(rows.source.datasets))
    not_too_many_patterns(plan, scope_of(tables, catalog))
    keys = tuple(bound_key(key, scope) for key in plan.keys)
    _not_too_many(plan, keys)
    not_too_many_terms(plan.source, plan.keys, plan.measures)
    tallies: list[Tally] = []
    if any(key.keys is None for key in keys):
        tallies.append(UnitTally())
    max_rows = _max_rows(plan, scope, limits)
    readings = tuple(
        read(measure.aggregate, scope, max_rows, tallies, finest(keys))
        for measure in plan.measures
    )
    bounded = BoundedPlan(
        source=rows.source,
        condition=rows.condition,
        keys=keys,
        max_groups=_at_most(limits.max_groups, limits.max_rows_in_all) if keys else 1,
        max_rows=max_rows,
        tallies=tuple(tallies),
        max_rows_in_all=limits.max_rows_in_all,
    )
    return Bound(bounded, readings)


def _not_too_many(plan: Plan, keys: tuple[BoundedKey, ...]) -> None:
    """Refuse an answer that nobody could hold: every public group is in it."""
    if len(plan.measures) > MOST_MEASURES:
        raise InvalidValue(f"A question asks for at most {MOST_MEASURES} aggregates.")
    groups = prod(len(key.keys.values) for key in keys if key.keys is not None)
    if groups > MOST_GROUPS:
        raise InvalidValue(f"An answer has at most {MOST_GROUPS} groups; ask for fewer keys.")


def _max_rows(plan: Plan, scope: Scope, limits: Limits) -> int:
    """The rows of a unit in a group: one, where the keys are those that it has one row by."""
    below = per_unit_in(plan.source)
    if below is None:
        return _at_most(limits.max_rows, limits.max_rows_in_all)
    fields = [key.expression for key in plan.keys]
    named = {scope[field.name].name for field in fields if isinstance(field, Field)}
    return 1 if named >= {scope[key].name for key in below.keys} else limits.max_rows


def _at_most(limit: int, in_all: int | None) -> int:
    return limit if in_all is None else min(limit, in_all)


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
