"""The tables of a question side by side, with their columns called dataset.column."""

from sqlglot import exp

from tacit.core.catalog import Catalog
from tacit.core.column import Column
from tacit.core.public_table import PublicTable
from tacit.engines.print.cell import cell
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.word import alias, chosen, column, identifier, is_null, literal
from tacit.plan.source import Beside, Source

JOINED = "tacit_joined"
LOOKUP = "tacit_lookup"


def joined(
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
        query = chosen(gathered, everything)
    for each in source.beside:
        if gathered is None or _split(each.left)[0] in beside:
            left = _equated(each.left, catalog, dialect)
        else:
            left = exp.column(identifier(each.left), table=exp.to_identifier(gathered))
        equal = exp.EQ(this=left, expression=_equated(each.right, catalog, dialect))
        kind = "left" if each.outer else "inner"
        query = query.join(
            _beside(each, catalog, dialect), on=equal, join_type=kind, copy=False
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
        alias(_cell(dataset, column, dialect), identifier(f"{dataset}.{column.name}"))
        for column in catalog.table(dataset).schema.columns
    ]


def _cell(dataset: str, column: Column, dialect: Dialect) -> exp.Expr:
    """A column of a table, with the one meaning of its kind."""
    return cell(_column(dataset, column.name), column.kind, dialect)


def _equated(name: str, catalog: Catalog, dialect: Dialect) -> exp.Expr:
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


def _beside(each: Beside, catalog: Catalog, dialect: Dialect) -> exp.Expr:
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
        partition_by=[_equated(each.right, catalog, dialect)],
        order=exp.Order(expressions=ordered),
    )
    counted = exp.select(*cells, alias(number, identifier(LOOKUP)), copy=False).from_(
        _table(each.dataset, catalog), copy=False
    )
    most = exp.LTE(this=column(LOOKUP), expression=literal(table.fan_out))
    kept = exp.select(*names).from_(counted.subquery("tacit_counted")).where(most)
    return kept.subquery(exp.to_identifier(each.dataset, quoted=True), copy=False)


def most_rows(name: str, lookup: str, catalog: Catalog, dialect: Dialect) -> str:
    """The statement that finds in how many rows of a public table one value stands at most."""
    found = _equated(f"{name}.{lookup}", catalog, dialect)
    counts = (
        exp.select(alias(exp.Count(this=exp.Star()), identifier(LOOKUP)))
        .from_(_table(name, catalog))
        .where(exp.not_(is_null(found)))
        .group_by(found)
    )
    most = exp.func("COALESCE", exp.Max(this=column(LOOKUP)), literal(0))
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
