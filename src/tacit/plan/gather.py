"""The rows of a relation as engines find them: tables, or what each unit's own rows add up to.

What is computed for a unit is a total function of that unit's own rows, so that the rows above
still belong to one unit each, and are bounded above as any others are.
"""

from dataclasses import dataclass, replace

from tacit.core.catalog import Catalog
from tacit.core.column import Column
from tacit.core.dataset import Limits
from tacit.errors import InvalidValue
from tacit.plan.bound_key import GROUPED
from tacit.plan.gather_value import gather_value
from tacit.plan.held import Held
from tacit.plan.on_grid import condition
from tacit.plan.relation import BELOW, PerUnit, Relation, datasets, filters, per_unit_in
from tacit.plan.scope import Scope, scope_of
from tacit.plan.source import Gathered, Source, one_row, source_of
from tacit.plan.steps import AllOf, HeldSteps


@dataclass(frozen=True, slots=True)
class Rows:
    """Where rows come from, their columns, which of them count, and how many a unit has.

    ``limits`` are what a question about these rows bounds units by: what is above a limit is
    dropped, so that nothing rests on their being true.
    """

    source: Source
    scope: Scope
    condition: AllOf
    limits: Limits


def gather(relation: Relation, catalog: Catalog) -> Rows:
    """The rows of ``relation``.

    Guarantee: a function of the question and the catalog alone: no data is read.
    """
    source = source_of(relation, catalog)
    below = per_unit_in(relation)
    if below is None:
        scope = scope_of(source.datasets, catalog)
        limits = catalog.dataset(source.dataset).limits
        if one_row(source, catalog):
            limits = Limits(1, 1)
    else:
        gathered, scope, limits = _gathered(below, source.unit, catalog)
        source = replace(source, gathered=gathered)
        public = scope_of(tuple(each.dataset for each in source.beside), catalog)
        scope = Scope((*scope.columns, *public.columns))
    for each in source.beside:
        if catalog.is_public(each.dataset):
            _alike(scope[each.left], scope[each.right])
    wanted = AllOf(tuple(condition(part, scope) for part in filters(relation)))
    return Rows(source, scope, wanted, limits)


def _gathered(relation: PerUnit, unit: str, catalog: Catalog) -> tuple[Gathered, Scope, Limits]:
    """The rows of units, their columns, and their limits.

    A unit has one row, or one for each of its groups: as many as it may have in an answer.
    """
    rows = gather(relation.source, catalog)
    _names_unit(relation, unit)
    columns = [rows.scope[name] for name in dict.fromkeys((unit, *relation.keys))]
    for column in columns[1:]:
        _is_key(column)
    values, held = [], []
    for value in relation.values:
        made, found = gather_value(value.aggregate, rows.scope, rows.limits.max_rows)
        name = f"{BELOW}.{value.name}"
        values.append((name, made))
        held.append(Held.of(name, replace(found, steps=HeldSteps(name))))
    keys = tuple(column.name for column in columns[1:])
    gathered = Gathered(rows.source, rows.condition, keys, tuple(values))
    most = rows.limits.max_groups if keys else 1
    return gathered, Scope((*columns, *held)), Limits(most, most)


def _alike(left: Column, right: Column) -> None:
    """Refuse to equate columns that engines compare each in their own way, or not at all."""
    if left.kind is not right.kind or left.kind not in GROUPED:
        raise InvalidValue(
            f"{left.name} is {left.kind.value} and {right.name} is {right.kind.value}; a join "
            "equates columns of one kind: text, whole numbers, truths or days."
        )


def _names_unit(relation: PerUnit, unit: str) -> None:
    dataset = unit.partition(".")[0]
    if dataset not in datasets(relation):
        raise InvalidValue(
            f"Rows of a query below that aggregates belong to {unit}; join {dataset!r} there."
        )


def _is_key(column: Column) -> None:
    if isinstance(column, Held) or column.kind not in GROUPED:
        raise InvalidValue(
            f"{column.name!r} makes no groups in a query below; group by the unit, and by "
            "columns of text, whole numbers, truths or days."
        )
