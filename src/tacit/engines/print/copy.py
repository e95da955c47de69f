"""The statements that make an ordered copy of a table, and look whether it is one."""

from sqlglot import exp

from tacit.core.column import Column, Kind
from tacit.core.dataset import Dataset
from tacit.engines.print.dialect import said
from tacit.engines.print.join import table_at
from tacit.engines.print.kept_rows import PLACE
from tacit.engines.print.mix import mixed
from tacit.engines.print.word import alias, bytewise, cast, column, identifier, is_null, literal
from tacit.errors import InvalidValue

BUCKETS = 16
"""Of a copy on Spark: more than the cores that read it here."""


def named_by(dataset: Dataset) -> tuple[Column, Column]:
    """The columns that a copy is ordered by: the unit, and what tells its rows apart."""
    if dataset.row_key is None:
        raise InvalidValue(
            f"{dataset.name!r} has no row_key, a column that tells the rows of one unit apart; "
            "declare one, such as the number of a visit."
        )
    return dataset.schema[dataset.unit.column], dataset.schema[dataset.row_key]


def placed_rows(
    dataset: Dataset, salt: bytes, part: int, parts: int, dialect: str
) -> exp.Select:
    """The rows of one part of the units, in order, with their places among those of their unit.

    Guarantee: a row's place, and its part, are functions of its unit's own rows. Rows that name
    no unit are left out.
    """
    unit, key = named_by(dataset)
    mixes = [(each.name, each.kind is Kind.TEXT) for each in (unit, key)]
    by = [mixed(salt, mixes, dialect), _bytewise(key, dialect)]
    order = exp.Order(expressions=[exp.Ordered(this=each) for each in by])
    place = exp.Window(this=exp.RowNumber(), partition_by=[column(unit.name)], order=order)
    share = exp.Mod(this=mixed(salt, mixes[:1], dialect), expression=literal(parts))
    mine = [exp.EQ(this=share, expression=literal(part))] if parts > 1 else []
    rows = (
        exp.select(
            *map(column, dataset.schema.names),
            alias(cast(place, "INT"), identifier(PLACE)),
        )
        .from_(table_at(dataset.location.table))
        .where(exp.not_(is_null(column(unit.name))), *mine)
    )
    if dialect == "spark":
        return rows  # its buckets are sorted as they are written
    return rows.order_by(_bytewise(unit, dialect), column(PLACE))


def made_from(dataset: Dataset, table: tuple[str, ...], rows: exp.Select, dialect: str) -> str:
    """The statement that makes a table of ``rows``.

    On Spark it has buckets of units, each one sorted file, so that no row is sent or sorted
    when it is read.
    """
    if dialect != "spark":
        return said(exp.Create(this=table_at(table), kind="TABLE", expression=rows), dialect)
    name, unit, place = (
        said(each, dialect)
        for each in (table_at(table), column(named_by(dataset)[0].name), column(PLACE))
    )
    buckets = f"CLUSTERED BY ({unit}) SORTED BY ({unit}, {place}) INTO {BUCKETS} BUCKETS"
    sent = f"SELECT /*+ REPARTITION({BUCKETS}, {unit}) */ * FROM ({said(rows, dialect)})"  # noqa: S608
    return f"CREATE TABLE {name} USING PARQUET {buckets} AS {sent}"


def dropped(table: tuple[str, ...], dialect: str) -> str:
    """The statement that drops a table, where it is there."""
    return said(exp.Drop(tables=[table_at(table)], kind="TABLE", exists=True), dialect)


def same_keys(dataset: Dataset, table: tuple[str, ...], dialect: str) -> str:
    """The statement that counts rows of a copy with the row key of another of their unit."""
    unit, key = named_by(dataset)
    groups = [column(each.name) for each in (unit, key)]
    many = exp.GT(this=exp.Count(this=exp.Star()), expression=literal(1))
    twice = exp.select(literal(1)).from_(table_at(table)).group_by(*groups).having(many)
    count = exp.select(exp.Count(this=exp.Star())).from_(twice.subquery("twice"))
    return said(count, dialect)


def _bytewise(named: Column, dialect: str) -> exp.Expr:
    return bytewise(column(named.name), dialect, text=named.kind is Kind.TEXT)
