"""The tables of a question side by side, with their columns called dataset.column."""

from sqlglot import exp

from tacit.core.catalog import Catalog
from tacit.plan.source import Source

JOINED = "tacit_joined"


def joined(source: Source, catalog: Catalog, gathered: str | None = None) -> exp.Select:
    """Every declared column of every table, under a name that no other has.

    Where rows were ``gathered`` the relation of that name stands in place of the first table.
    """
    beside = {each.dataset for each in source.beside}
    if gathered is None:
        query = exp.select(*_columns(source.dataset, catalog))
        query = query.from_(_table(source.dataset, catalog))
    else:
        everything = exp.Column(this=exp.Star(), table=exp.to_identifier(gathered))
        query = exp.select(everything).from_(gathered)
    for each in source.beside:
        dataset, name = _split(each.left)
        is_gathered = gathered is not None and dataset not in beside
        left = _column(gathered or "", each.left) if is_gathered else _column(dataset, name)
        equal = exp.EQ(this=left, expression=_column(*_split(each.right)))
        kind = "left" if each.outer else "inner"
        query = query.join(_table(each.dataset, catalog), on=equal, join_type=kind)
        query = query.select(*_columns(each.dataset, catalog))
    return query


def columns(dataset: str, catalog: Catalog, dialect: str) -> str:
    """The statement that finds the declared columns of a table, and no row."""
    names = [_column(dataset, name) for name in catalog.table(dataset).schema.names]
    text: str = exp.select(*names).from_(_table(dataset, catalog)).limit(0).sql(dialect=dialect)
    return text


def _columns(dataset: str, catalog: Catalog) -> list[exp.Expr]:
    return [
        exp.alias_(_column(dataset, name), f"{dataset}.{name}", quoted=True)
        for name in catalog.table(dataset).schema.names
    ]


def _split(name: str) -> tuple[str, str]:
    dataset, _, column = name.partition(".")
    return dataset, column


def _column(dataset: str, column: str) -> exp.Expr:
    return exp.column(
        exp.to_identifier(column, quoted=True), table=exp.to_identifier(dataset, quoted=True)
    )


def _table(dataset: str, catalog: Catalog) -> exp.Expr:
    parts = catalog.table(dataset).location.table
    *schema, last = (exp.to_identifier(part, quoted=True) for part in parts)
    table = exp.Table(this=last, db=schema[-1] if schema else None)
    return exp.alias_(table, exp.to_identifier(dataset, quoted=True), table=True)
