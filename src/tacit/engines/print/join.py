"""The tables of a question side by side, with their columns called dataset.column."""

from sqlglot import exp

from tacit.core.catalog import Catalog
from tacit.core.column import Column, Kind
from tacit.engines.print.row import identifier
from tacit.plan.source import Source

JOINED = "tacit_joined"


def joined(source: Source, catalog: Catalog, dialect: str) -> exp.Select:
    """Every declared column of every table, under a name that no other has."""
    columns = [
        exp.alias_(_cell(name, column, dialect), identifier(f"{name}.{column.name}"))
        for name in source.datasets
        for column in catalog.dataset(name).schema.columns
    ]
    query = exp.select(*columns).from_(_table(source.dataset, catalog))
    for beside in source.beside:
        left, right = _split(beside.left), _split(beside.right)
        equal = exp.EQ(this=_column(*left), expression=_column(*right))
        query = query.join(_table(beside.dataset, catalog), on=equal, join_type="inner")
    return query


def columns(dataset: str, catalog: Catalog, dialect: str) -> str:
    """The statement that finds the declared columns of a table, and no row."""
    names = [_column(dataset, name) for name in catalog.dataset(dataset).schema.names]
    text: str = exp.select(*names).from_(_table(dataset, catalog)).limit(0).sql(dialect=dialect)
    return text


def _cell(dataset: str, column: Column, dialect: str) -> exp.Expr:
    """A column of a table; decimals of PostgreSQL can be no number, which is NULL here."""
    found = _column(dataset, column.name)
    if column.kind is Kind.DECIMAL and dialect == "postgres":
        return exp.func("NULLIF", found, exp.cast(exp.Literal.string("NaN"), "DECIMAL"))
    return found


def _split(name: str) -> tuple[str, str]:
    dataset, _, column = name.partition(".")
    return dataset, column


def _column(dataset: str, column: str) -> exp.Expr:
    return exp.column(
        exp.to_identifier(column, quoted=True), table=exp.to_identifier(dataset, quoted=True)
    )


def _table(dataset: str, catalog: Catalog) -> exp.Expr:
    parts = catalog.dataset(dataset).location.table
    *schema, last = (exp.to_identifier(part, quoted=True) for part in parts)
    table = exp.Table(this=last, db=schema[-1] if schema else None)
    return exp.alias_(table, exp.to_identifier(dataset, quoted=True), table=True)
