"""Relations that choices make above others: public tables, sums of units, semi-joins."""

from collections.abc import Callable

from made_catalog import EQUATED, PLACES
from made_expression import Maker

from tacit.core.catalog import Catalog
from tacit.plan.allowed_joins import same_person
from tacit.plan.plan import (
    Aggregate,
    CountRows,
    CountValues,
    Greatest,
    JoinPublic,
    Least,
    Mean,
    PerUnit,
    Relation,
    Scan,
    Semi,
    Sum,
    UnitValue,
    tables_in_scope,
)

INNER: tuple[Callable[[Maker], Aggregate], ...] = (
    lambda _: CountRows(),
    lambda make: CountValues(make.number()),
    lambda make: Sum(make.number()),
    lambda make: Mean(make.number()),
    lambda make: Least(make.number()),
    lambda make: Greatest(make.number()),
)
"""What one unit's own rows can be asked for."""


def beside_public(make: Maker, source: Relation) -> Relation:
    """``source`` beside a public table, by a column of the same kind."""
    choices = make.choices
    left = choices.one([column for column in make.scope.columns if column.kind in EQUATED])
    return JoinPublic(
        source, PLACES, left.name, f"of {left.kind.value}", outer=choices.once_in(2)
    )


def semi_join(
    make: Maker, source: Relation, catalog: Catalog, inside: Callable[[Relation], Relation]
) -> Relation:
    """``source`` where a row of the same person exists in another table, or where none does.

    ``inside`` makes the rows of the other table; sometimes a second pair of columns is equated.
    """
    choices = make.choices
    there = choices.one(catalog.datasets).name
    pairs = [
        (f"{table}.{left}", f"{there}.{right}")
        for table in tables_in_scope(source)
        if not catalog.is_public(table)
        for left in catalog.dataset(table).schema.names
        for right in catalog.dataset(there).schema.names
        if same_person(f"{table}.{left}", f"{there}.{right}", catalog)
    ]
    if not pairs:
        return source
    on = [choices.one(pairs)]
    if choices.once_in(3):
        kinds = catalog.dataset(there).schema.columns
        more = [
            (ours.name, f"{there}.{theirs.name}")
            for ours in make.scope.columns
            for theirs in kinds
            if ours.kind is theirs.kind and ours.kind in EQUATED
        ]
        on += [choices.one(more)] if more else []
    pairs_of = tuple(dict.fromkeys(on))
    return Semi(source, inside(Scan(there)), pairs_of, anti=choices.once_in(2))


def per_unit(make: Maker, source: Relation) -> Relation:
    """What each unit's rows add up to, or those of each of its groups."""
    choices = make.choices
    names = [name for name in make.names(*EQUATED) if not name.startswith("below.")]
    keys = choices.some(0, 2, lambda _: choices.one(names))
    values = choices.some(1, 2, lambda place: UnitValue(f"v{place}", choices.one(INNER)(make)))
    return PerUnit(source, tuple(dict.fromkeys(keys)), tuple(values))
