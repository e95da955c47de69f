"""The source of a statement: joined tables and per-unit aggregates.

Columns of the source are named dataset.column.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from sqlglot import exp

from tacit.core import Catalog, Column, Kind, PublicTable, Schema
from tacit.engines.print import sql_builder as build
from tacit.engines.print.expressions import cell, condition, finite, stages, steps
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.stored_columns import read_value
from tacit.engines.print.sums_and_hashes import hash_columns
from tacit.plan import (
    AllOf,
    CountOf,
    GreatestOf,
    JoinedTable,
    LeastOf,
    MeanOf,
    SemiJoin,
    Source,
    SumOf,
    TableLimit,
    UnitAggregate,
    UnitAggregation,
)

JOINED = "tacit_joined"
LOOKUP = "tacit_lookup"


def join_tables(
    source: Source,
    catalog: Catalog,
    dialect: Dialect,
    gathered: str | None = None,
    limited: Mapping[str, str] = MappingProxyType({}),
) -> exp.Select:
    """Return a SELECT of all declared columns of the joined tables, under unique names.

    If ``gathered`` is the name of a relation of per-unit aggregates, that relation takes the
    place of the first table. ``limited`` are the relations that take the places of tables whose
    rows are limited before the join.
    """
    beside = {each.dataset for each in source.beside}
    read = _read_as_converted(catalog, limited)
    if gathered is None:
        query = exp.select(*_cells(source.dataset, read, dialect), copy=False)
        query = query.from_(_limited_table(source.dataset, limited, catalog), copy=False)
    else:
        everything = exp.Column(this=exp.Star(), table=exp.to_identifier(gathered))
        query = build.select_from(gathered, everything)
    for each in source.beside:
        if gathered is None or _split(each.left)[0] in beside:
            left = _join_key(each.left, read, dialect)
        else:
            left = exp.column(build.identifier(each.left), table=exp.to_identifier(gathered))
        equal = exp.EQ(this=left, expression=_join_key(each.right, read, dialect))
        kind = "left" if each.outer else "inner"
        if each.dataset in limited:
            table = _limited_table(each.dataset, limited, catalog)
        else:
            table = _joined_table(each, catalog, dialect)
        query = query.join(table, on=equal, join_type=kind, copy=False)
        query = query.select(*_cells(each.dataset, read, dialect), copy=False)
    return query


def _read_as_converted(catalog: Catalog, limited: Mapping[str, str]) -> Catalog:
    """Return the catalogue for a join: values of limited tables have been converted before."""
    datasets = (
        replace(each, schema=each.schema.copied) if each.name in limited else each
        for each in catalog.datasets
    )
    return replace(catalog, datasets=tuple(datasets)) if limited else catalog


def _limited_table(dataset: str, limited: Mapping[str, str], catalog: Catalog) -> exp.Expr:
    """Return a table, or the relation of its limited rows, under the name of the dataset."""
    if dataset not in limited:
        return _table(dataset, catalog)
    name = exp.to_identifier(dataset, quoted=True)
    return exp.alias_(exp.to_table(limited[dataset]), name, table=True, copy=False)


def columns(dataset: str, catalog: Catalog, dialect: Dialect) -> str:
    """Return the statement that selects the declared columns of a table, and no row."""
    names = [_column(dataset, name) for name in catalog.table(dataset).schema.names]
    return dialect.render(exp.select(*names).from_(_table(dataset, catalog)).limit(0))


def everything(table: tuple[str, ...], dialect: Dialect) -> str:
    """Return the statement that selects all columns of a table, and no row."""
    return dialect.render(exp.select("*").from_(table_at(table)).limit(0))


def _cells(dataset: str, catalog: Catalog, dialect: Dialect) -> list[exp.Expr]:
    return [
        build.alias(
            _cell(dataset, column, dialect), build.identifier(f"{dataset}.{column.name}")
        )
        for column in _schema(dataset, catalog).columns
    ]


def _schema(dataset: str, catalog: Catalog) -> Schema:
    """Return the columns of the table from which rows are read: the copy if there is one."""
    table = catalog.table(dataset)
    return table.schema.copied if table.copy else table.schema


def _cell(dataset: str, column: Column, dialect: Dialect) -> exp.Expr:
    """Return a column of a table, with the meaning of its kind."""
    stored = _column(dataset, column.name)
    return cell(read_value(stored, column, dialect), column.kind, dialect)


def _join_key(name: str, catalog: Catalog, dialect: Dialect) -> exp.Expr:
    """Return the column named dataset.column for the condition of a join."""
    dataset, column = _split(name)
    return _cell(dataset, _schema(dataset, catalog)[column], dialect)


def _split(name: str) -> tuple[str, str]:
    dataset, _, column = name.partition(".")
    return dataset, column


def _name(column: str) -> exp.Expr:
    return exp.column(exp.to_identifier(column, quoted=True))


def _column(dataset: str, column: str) -> exp.Expr:
    return exp.column(
        exp.to_identifier(column, quoted=True), table=exp.to_identifier(dataset, quoted=True)
    )


def _joined_table(each: JoinedTable, catalog: Catalog, dialect: Dialect) -> exp.Expr:
    """Return a table to join; a public table has at most ``fan_out`` rows for each value.

    The limit is part of the statement, below the join, because a public table may change after
    it was checked. Rows are ordered by all declared columns before the limit is applied, so
    that the statement always has the same meaning.
    """
    table = catalog.table(each.dataset)
    if not isinstance(table, PublicTable):
        return _table(each.dataset, catalog)
    names = [_name(name) for name in table.schema.names]
    cells = [_column(each.dataset, name) for name in table.schema.names]
    ordered = [exp.Ordered(this=cell) for cell in cells]
    number = exp.Window(
        this=exp.RowNumber(),
        partition_by=[_join_key(each.right, catalog, dialect)],
        order=exp.Order(expressions=ordered),
    )
    counted = exp.select(
        *cells, build.alias(number, build.identifier(LOOKUP)), copy=False
    ).from_(_table(each.dataset, catalog), copy=False)
    most = exp.LTE(this=build.column(LOOKUP), expression=build.literal(table.fan_out))
    kept = exp.select(*names).from_(counted.subquery("tacit_counted")).where(most)
    return kept.subquery(exp.to_identifier(each.dataset, quoted=True), copy=False)


def most_rows(name: str, lookup: str, catalog: Catalog, dialect: Dialect) -> str:
    """Return the statement that finds the largest number of rows with one lookup value."""
    found = _join_key(f"{name}.{lookup}", catalog, dialect)
    counts = (
        exp.select(build.alias(exp.Count(this=exp.Star()), build.identifier(LOOKUP)))
        .from_(_table(name, catalog))
        .where(exp.not_(build.is_null(found)))
        .group_by(found)
    )
    most = exp.func("COALESCE", exp.Max(this=build.column(LOOKUP)), build.literal(0))
    return dialect.render(exp.select(most).from_(counts.subquery("tacit_counted")))


def _table(dataset: str, catalog: Catalog) -> exp.Expr:
    """Return the table or subquery from which rows are read: the copy if there is one."""
    found, name = catalog.table(dataset), exp.to_identifier(dataset, quoted=True)
    tables = found.copy.tables if found.copy else (found.location.table,)
    if len(tables) == 1:
        return exp.alias_(table_at(tables[0]), name, table=True, copy=False)
    names = [exp.to_identifier(each, quoted=True) for each in found.schema.names]
    parts = [exp.select(*map(exp.column, names)).from_(table_at(table)) for table in tables]
    return exp.union(*parts, distinct=False).subquery(name, copy=False)


def table_at(parts: tuple[str, ...]) -> exp.Table:
    """Return a table by its name in the engine."""
    *above, last = (exp.to_identifier(part, quoted=True) for part in parts)
    names = dict(zip(("db", "catalog"), reversed(above), strict=False))
    return exp.Table(this=last, **names)


# ------------------------------------------------------------------ per-unit aggregates
# The rows of a question are the rows of joined tables, or one row for each unit (and perhaps
# further keys) with aggregates of the unit's own rows.

VALUES, GATHERED = "tacit_values", "tacit_gathered"

Relations = dict[str, exp.Query]
"""Relations by name; each may read the ones before it."""


def rows(
    source: Source, catalog: Catalog, dialect: Dialect, level: str = "", salt: bytes = b""
) -> Relations:
    """Return relations of which the last one has the rows of ``source``.

    The names of the relations end in ``level``. The ``salt`` decides which rows are kept of a
    table that is limited before it is joined.

    Guarantee: the relations cannot fail, whatever the rows contain.
    """
    made: Relations = {}
    if source.limited:
        made, limited = limit_tables(source.limited, catalog, dialect, level, salt)
        joined = join_tables(source, catalog, dialect, limited=limited)
        made[f"{JOINED}{level}"] = joined
    elif source.gathered is None:
        made[f"{JOINED}{level}"] = join_tables(source, catalog, dialect)
    else:
        made = _aggregate_units(source.gathered, catalog, dialect, f"{level}_below", salt)
        if source.beside:
            made[f"{JOINED}{level}"] = join_tables(source, catalog, dialect, list(made)[-1])
    above = list(made)[-1]
    for place, semi in enumerate(source.semis):
        own = f"{level}_{place}s"
        made |= rows(semi.source, catalog, dialect, own, salt)
        between = RowsToMatch(above, list(made)[-1], own)
        made |= keep_matched(semi, between, catalog, dialect)
        above = list(made)[-1]
    return made


# ------------------------------------------------------------------ tables before a join
# Where rows of two tables multiply, the rows of each unit are limited in each of them first.

TABLE, NUMBERED, SIDE = "tacit_table", "tacit_table_numbered", "tacit_side"


def limit_tables(
    limits: tuple[TableLimit, ...], catalog: Catalog, dialect: Dialect, level: str, salt: bytes
) -> tuple[Relations, dict[str, str]]:
    """Return relations with the limited rows of tables, and their names by dataset."""
    made: Relations = {}
    limited = {}
    for place, limit in enumerate(limits):
        own = f"{level}_{place}t"
        made |= _limit_table(limit, catalog, dialect, own, salt)
        limited[limit.dataset] = list(made)[-1]
    return made, limited


def _limit_table(
    limit: TableLimit, catalog: Catalog, dialect: Dialect, level: str, salt: bytes
) -> Relations:
    """Return relations of which the last one has the limited rows, under their own names."""
    name, schema = limit.dataset, catalog.table(limit.dataset).schema
    cells = exp.select(*_cells(name, catalog, dialect), copy=False)
    made: Relations = {f"{TABLE}{level}": cells.from_(_table(name, catalog), copy=False)}
    made |= stages((limit.condition,), list(made)[-1], level)
    kinds = {f"{name}.{column.name}": column.kind for column in schema.columns}
    parts = [(each, kinds[each] is Kind.TEXT) for each in limit.order]
    order = [hash_columns(salt, parts, dialect)]
    order += [_ordered_column(each, kind, dialect) for each, kind in kinds.items()]
    number = exp.Window(
        this=exp.RowNumber(),
        partition_by=[_match_column(build.column(limit.by), limit.by, catalog, dialect)],
        order=exp.Order(expressions=[exp.Ordered(this=part) for part in order]),
    )
    numbered = build.select_from(
        list(made)[-1], exp.Star(), build.alias(number, build.identifier(LOOKUP))
    )
    if limit.condition != AllOf(()):
        # Spark would read FROM t WHERE (TRUE) as a table with an alias and a list of columns
        numbered = numbered.where(condition(limit.condition), copy=False)
    made[f"{NUMBERED}{level}"] = numbered
    most = exp.LTE(this=build.column(LOOKUP), expression=build.literal(limit.most))
    columns_of = [
        build.alias(build.column(f"{name}.{each}"), exp.to_identifier(each, quoted=True))
        for each in schema.names
    ]
    kept = build.select_from(f"{NUMBERED}{level}", *columns_of).where(most, copy=False)
    return {**made, f"{SIDE}{level}": kept}


def _ordered_column(name: str, kind: Kind, dialect: Dialect) -> exp.Expr:
    """Return a column by which rows are ordered; the two zeros of floats are one."""
    if kind is Kind.FLOAT:
        return exp.Add(this=finite(name, kind), expression=build.double(0.0))
    return build.bytewise(build.column(name), dialect, text=kind is Kind.TEXT)


# ------------------------------------------------------------------ semi-joins
# Rows that are kept if a row of the same unit exists elsewhere, or if none does. The subselect
# has each combination of the compared columns once, so that neither the rows of one person nor
# their number change how long an engine searches for a match.

MATCHES, MATCHED = "tacit_matches", "tacit_matched"


class RowsToMatch(NamedTuple):
    """The relations of a semi-join: the rows that it keeps, and the rows of its subselect.

    The names of further relations end in ``level``.
    """

    above: str
    inside: str
    level: str


def keep_matched(
    semi: SemiJoin, between: RowsToMatch, catalog: Catalog, dialect: Dialect
) -> Relations:
    """Return relations of which the last one has the rows that ``semi`` keeps.

    Both forms are printed with EXISTS and equations, the unit's first. NOT IN is never printed:
    a NULL in its list would remove all rows of everybody.
    """
    above, inside, level = between
    made: Relations = {**stages((semi.condition,), inside, level)}
    inside = list(made)[-1] if made else inside
    names = [right for _, right in semi.on]
    known = [exp.not_(build.is_null(build.column(name))) for name in names]
    cells = [
        build.alias(_match_column(build.column(name), name, catalog, dialect), f"m{place}")
        for place, name in enumerate(names)
    ]
    matches = build.select_from(inside, *cells)
    made[f"{MATCHES}{level}"] = matches.where(
        *known, condition(semi.condition), copy=False
    ).distinct(copy=False)
    equal = [
        exp.EQ(
            this=exp.column(f"m{place}", table=f"{MATCHES}{level}"),
            expression=_match_column(
                exp.column(build.identifier(left), table=above), left, catalog, dialect
            ),
        )
        for place, (left, _) in enumerate(semi.on)
    ]
    there: exp.Expr = exp.Exists(
        this=build.select_from(f"{MATCHES}{level}", build.literal(1)).where(*equal, copy=False)
    )
    kept = build.select_from(above).where(exp.not_(there) if semi.anti else there, copy=False)
    return {**made, f"{MATCHED}{level}": kept}


def _match_column(value: exp.Expr, name: str, catalog: Catalog, dialect: Dialect) -> exp.Expr:
    """Return a column of a relation for an equation; texts are compared by their bytes."""
    dataset, column = _split(name)
    text = catalog.table(dataset).schema[column].kind is Kind.TEXT
    return build.bytewise(value, dialect, text=text)


def _aggregate_units(
    relation: UnitAggregation, catalog: Catalog, dialect: Dialect, level: str, salt: bytes
) -> Relations:
    made = rows(relation.source, catalog, dialect, level, salt)
    values = [value for _, value in relation.values]
    made |= stages((relation.condition, *values), list(made)[-1], level)
    unit = relation.source.unit
    names = [build.column(name) for name in (unit, *relation.keys)]
    numbers = [build.alias(_row_value(each), f"v{place}") for place, each in enumerate(values)]
    made[f"{VALUES}{level}"] = build.select_from(list(made)[-1], *names, *numbers).where(
        exp.not_(build.is_null(build.column(unit))), condition(relation.condition), copy=False
    )
    found = [
        build.alias(
            build.cast(_unit_aggregate(value, build.column(f"v{place}")), "BIGINT"),
            build.identifier(name),
        )
        for place, (name, value) in enumerate(relation.values)
    ]
    made[f"{GATHERED}{level}"] = build.select_from(f"{VALUES}{level}", *names, *found).group_by(
        *names, copy=False
    )
    return made


def _row_value(value: UnitAggregate) -> exp.Expr:
    """Return the value of one row that an aggregate needs."""
    if isinstance(value, CountOf):
        return build.choose([(condition(value.condition), build.literal(1))], build.literal(0))
    return steps(value.steps)


def _unit_aggregate(value: UnitAggregate, number: exp.Expr) -> exp.Expr:
    """Return the aggregate of a unit's rows; sums have 128 bits and cannot overflow."""
    match value:
        case CountOf(_, low, high) | SumOf(_, low, high):
            return build.clamp(exp.Sum(this=number), build.literal(low), build.literal(high))
        case LeastOf():
            return exp.Min(this=number)
        case GreatestOf():
            return exp.Max(this=number)
        case MeanOf(_, finer, start):
            count = exp.Count(this=number)
            doubled = exp.Mul(this=exp.Sum(this=number), expression=build.literal(2 * finer))
            rounded = build.paren(exp.Add(this=doubled, expression=count))
            whole = exp.IntDiv(
                this=rounded,
                expression=build.paren(exp.Mul(this=build.literal(2), expression=count)),
            )
            # without values, the sum is NULL, and so must be the mean
            there = exp.GT(this=count, expression=build.literal(0))
            total = exp.Add(this=build.paren(whole), expression=build.literal(start))
            return build.choose([(there, total)], None)
