"""The tables of a question side by side, with their columns called dataset.column."""

from sqlglot import exp

from tacit.core import Catalog, Column, PublicTable
from tacit.engines.print import sql_builder as build
from tacit.engines.print.expressions import cell, condition, stages, steps
from tacit.engines.print.sql_dialect import Dialect
from tacit.plan import (
    Beside,
    CountOf,
    Gathered,
    GreatestOf,
    LeastOf,
    MeanOf,
    OfUnit,
    Source,
    SumOf,
)

JOINED = "tacit_joined"
LOOKUP = "tacit_lookup"


def join_tables(
    source: Source, catalog: Catalog, dialect: Dialect, gathered: str | None = None
) -> exp.Select:
    """Every declared column of every table, under a name that no other has.

    Where rows were ``gathered`` the relation of that name stands in place of the first table.
    """
    beside = {each.dataset for each in source.beside}
    if gathered is None:
        query = exp.select(*_cells(source.dataset, catalog, dialect), copy=False)
        query = query.from_(_table(source.dataset, catalog), copy=False)
    else:
        everything = exp.Column(this=exp.Star(), table=exp.to_identifier(gathered))
        query = build.select_from(gathered, everything)
    for each in source.beside:
        if gathered is None or _split(each.left)[0] in beside:
            left = _join_key(each.left, catalog, dialect)
        else:
            left = exp.column(build.identifier(each.left), table=exp.to_identifier(gathered))
        equal = exp.EQ(this=left, expression=_join_key(each.right, catalog, dialect))
        kind = "left" if each.outer else "inner"
        query = query.join(
            _joined_table(each, catalog, dialect), on=equal, join_type=kind, copy=False
        )
        query = query.select(*_cells(each.dataset, catalog, dialect), copy=False)
    return query


def columns(dataset: str, catalog: Catalog, dialect: Dialect) -> str:
    """The statement that finds the declared columns of a table, and no row."""
    names = [_column(dataset, name) for name in catalog.table(dataset).schema.names]
    return dialect.render(exp.select(*names).from_(_table(dataset, catalog)).limit(0))


def everything(table: tuple[str, ...], dialect: Dialect) -> str:
    """The statement that finds all columns of a table, and no row."""
    return dialect.render(exp.select("*").from_(table_at(table)).limit(0))


def _cells(dataset: str, catalog: Catalog, dialect: Dialect) -> list[exp.Expr]:
    return [
        build.alias(
            _cell(dataset, column, dialect), build.identifier(f"{dataset}.{column.name}")
        )
        for column in catalog.table(dataset).schema.columns
    ]


def _cell(dataset: str, column: Column, dialect: Dialect) -> exp.Expr:
    """A column of a table, with the one meaning of its kind."""
    return cell(_column(dataset, column.name), column.kind, dialect)


def _join_key(name: str, catalog: Catalog, dialect: Dialect) -> exp.Expr:
    """A column called dataset.column in the condition of a join."""
    dataset, column = _split(name)
    return _cell(dataset, catalog.table(dataset).schema[column], dialect)


def _split(name: str) -> tuple[str, str]:
    dataset, _, column = name.partition(".")
    return dataset, column


def _name(column: str) -> exp.Expr:
    return exp.column(exp.to_identifier(column, quoted=True))


def _column(dataset: str, column: str) -> exp.Expr:
    return exp.column(
        exp.to_identifier(column, quoted=True), table=exp.to_identifier(dataset, quoted=True)
    )


def _joined_table(each: Beside, catalog: Catalog, dialect: Dialect) -> exp.Expr:
    """A table that is joined; of a public one, no more rows for a value than are declared.

    The bound stands in the statement, below the join, since nothing else keeps a public table
    from changing after it was looked at. Rows beyond it are chosen by all declared columns, so
    that a statement always means the same.
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
    """The statement that finds in how many rows of a public table one value stands at most."""
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
    """What the rows of a table are read from: its copy, where it has one, or where it is."""
    found, name = catalog.table(dataset), exp.to_identifier(dataset, quoted=True)
    tables = found.copy.tables if found.copy else (found.location.table,)
    if len(tables) == 1:
        return exp.alias_(table_at(tables[0]), name, table=True, copy=False)
    names = [exp.to_identifier(each, quoted=True) for each in found.schema.names]
    parts = [exp.select(*map(exp.column, names)).from_(table_at(table)) for table in tables]
    return exp.union(*parts, distinct=False).subquery(name, copy=False)


def table_at(parts: tuple[str, ...]) -> exp.Table:
    """A table by its own name in its engine."""
    *above, last = (exp.to_identifier(part, quoted=True) for part in parts)
    names = dict(zip(("db", "catalog"), reversed(above), strict=False))
    return exp.Table(this=last, **names)


# ------------------------------------------------------------------ gather
# The rows of a question: tables side by side, or what each unit's own rows add up to.

VALUES, GATHERED = "tacit_values", "tacit_gathered"

Relations = dict[str, exp.Query]
"""Relations by name, each above the one before it."""


def rows(source: Source, catalog: Catalog, dialect: Dialect, level: str = "") -> Relations:
    """The relations of which the last holds the rows of ``source``; ``level`` ends their names.

    Guarantee: what they compute cannot fail, whatever the rows hold.
    """
    if source.gathered is None:
        return {f"{JOINED}{level}": join_tables(source, catalog, dialect)}
    made = _aggregate_units(source.gathered, catalog, dialect, f"{level}_below")
    if source.beside:
        made[f"{JOINED}{level}"] = join_tables(source, catalog, dialect, list(made)[-1])
    return made


def _aggregate_units(
    relation: Gathered, catalog: Catalog, dialect: Dialect, level: str
) -> Relations:
    made = rows(relation.source, catalog, dialect, level)
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


def _row_value(value: OfUnit) -> exp.Expr:
    """What is needed of one row."""
    if isinstance(value, CountOf):
        return build.choose([(condition(value.condition), build.literal(1))], build.literal(0))
    return steps(value.steps)


def _unit_aggregate(value: OfUnit, number: exp.Expr) -> exp.Expr:
    """What a unit's rows add up to: sums have 128 bits, which no number of rows fills."""
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
            # of nothing the sum is NULL, and so is this
            there = exp.GT(this=count, expression=build.literal(0))
            total = exp.Add(this=build.paren(whole), expression=build.literal(start))
            return build.choose([(there, total)], None)
