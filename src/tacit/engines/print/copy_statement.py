"""The statements that make a validated copy of a table, and that check the copy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tacit.core import NAMING, Column, Dataset, Kind, PublicTable, keeps_order
from tacit.engines.print import sql_builder as build
from tacit.engines.print.ranking import BROKEN, PLACE, UNIT, RowOrder, kept_rows
from tacit.engines.print.relation import table_at
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.stored_columns import read_value
from tacit.engines.print.sums_and_hashes import hash_columns
from tacit.engines.print.validated_columns import TEXT_BYTES, cast_to_declared, in_range
from tacit.engines.storage_rules import form_of, type_name
from tacit.errors import InvalidValue

SEEN = "tacit_seen"
"""The name of the computed column with a row's number, or with a number of rows."""

FACT = "fact"
"""The column of a copy's record, which names the table that was copied."""


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """The rows of a copy, as a query over the table that is copied.

    ``types`` are the types of the table's columns, as the engine reports them. A value of one
    of the ``unique`` columns is copied in at most one row. The first of these columns is the
    unit.
    """

    table: Dataset | PublicTable
    types: Mapping[str, str]
    dialect: Dialect
    parts: int = 1
    text_bytes: int = TEXT_BYTES
    unique: tuple[str, ...] = ()

    def part(self, number: int, salt: bytes) -> exp.Select:
        """Return the rows of one part; the rows of a unit are next to each other and in order.

        Guarantee: the copied values of a row, its part, and its place among the rows of its
        unit are functions of its unit's own rows. Rows without a unit are left out. If one row
        is kept of each unit, the choice is a function of the unit's own rows too. If two of the
        kept rows share another unique value, both are left out.
        """
        names = list(map(build.column, self.table.schema.names))
        if not isinstance(self.table, Dataset):
            return exp.select(*names).from_(self._validated)
        leading = self.table.schema[self.table.unit.column]
        ordered = keeps_order(self.table)
        if ordered:
            place = build.cast(self._place(self.table, salt), "INT")
            names.append(build.alias(place, build.identifier(PLACE)))
        wanted: list[exp.Expr] = [exp.not_(build.is_null(build.column(leading.name)))]
        if self.parts > 1:
            mix = hash_columns(salt, [(leading.name, leading.kind is Kind.TEXT)], self.dialect)
            share = exp.Mod(this=mix, expression=build.literal(self.parts))
            wanted.append(exp.EQ(this=share, expression=build.literal(number)))
        rows = exp.select(*names).from_(self._one_each(salt)).where(*wanted)
        if not self.dialect.orders_copies:
            return rows  # the engine sorts them when it writes the table
        by = [_bytewise(leading, self.dialect), *([build.column(PLACE)] if ordered else [])]
        return rows.order_by(*by)

    @property
    def _validated(self) -> exp.Subquery:
        """All rows of the table, with validated values of the declared types."""
        cells, checked = [], []
        for each in self.table.schema.columns:
            if each.name not in self.types:
                raise InvalidValue(
                    f"The table of {self.table.name!r} has no column {each.name!r}. Correct "
                    "the name of the column, or remove it from the declaration."
                )
            name = build.identifier(each.name)
            cells.append(build.alias(self._cast_column(each), name))
            checked.append(
                build.alias(in_range(each, self.dialect, self.text_bytes), name.copy())
            )
        rows = exp.select(*cells).from_(table_at(self.table.location.table))
        return exp.select(*checked).from_(rows.subquery("tacit_typed")).subquery("tacit_valid")

    def _cast_column(self, column: Column) -> exp.Expr:
        """Return the value of a column in its declared type, or NULL."""
        physical, form = self.types[column.name], form_of(column)
        if isinstance(form, Kind):
            return cast_to_declared(column, physical, self.dialect)
        known = self.dialect.stored_types.get(form)
        if known is None or not known.fullmatch(physical):
            raise InvalidValue(
                f"{self.table.name}.{column.name} is declared with a stored type or a zone "
                f"that does not belong to its type in the table, {type_name(physical)}. "
                "Correct the declaration, or remove stored and zone from it."
            )
        return read_value(build.column(column.name), column, self.dialect)

    def _one_each(self, salt: bytes) -> exp.Subquery:
        """Return the valid rows, in which no unique column has a value twice.

        First, one row of each unit is kept. Then rows that share another unique value are left
        out. So a unit can affect others only by its one kept row: it can make rows with the
        same value disappear, and its own row disappears too.
        """
        if not self.unique:
            return self._validated
        unit, *keys = self.unique
        naming = [each for each in self.table.schema.columns if each.kind in NAMING]
        number = self._number(unit, naming, salt)
        named = exp.not_(build.is_null(build.column(unit)))
        rows = self._where(self._validated, number, exp.and_(named, _is_one()))
        for key in keys:
            count = exp.Window(
                this=exp.Count(this=exp.Star()), partition_by=[build.column(key)]
            )
            alone = exp.or_(build.is_null(build.column(key)), _is_one())
            rows = self._where(rows, count, alone)
        return rows

    def _where(self, rows: exp.Subquery, seen: exp.Expr, wanted: exp.Expr) -> exp.Subquery:
        """Return the rows for which ``wanted`` holds, where ``seen`` is a window function."""
        names = list(map(build.column, self.table.schema.names))
        looked = exp.select(*names, build.alias(seen, build.identifier(SEEN))).from_(rows)
        kept = exp.select(*names).from_(looked.subquery("tacit_looked")).where(wanted)
        return kept.subquery("tacit_valid")

    def _place(self, dataset: Dataset, salt: bytes) -> exp.Expr:
        """Return the number of a row among its unit's rows, by the row-order hash."""
        unit, key = order_columns(dataset)
        return self._number(unit.name, [unit, key], salt)

    def _number(self, unit: str, hashed: Sequence[Column], salt: bytes) -> exp.Expr:
        """Return the number of a row in its unit, by the hash of ``hashed``, then by all.

        Rows that are equal in all columns are interchangeable.
        """
        parts = [(each.name, each.kind is Kind.TEXT) for each in hashed]
        others = [each for each in self.table.schema.columns if each not in hashed]
        values = [_bytewise(each, self.dialect) for each in (*hashed, *others)]
        by = [hash_columns(salt, parts, self.dialect), *values]
        order = exp.Order(expressions=[exp.Ordered(this=each) for each in by])
        return exp.Window(this=exp.RowNumber(), partition_by=[build.column(unit)], order=order)


def order_columns(dataset: Dataset) -> tuple[Column, Column]:
    """Return the columns that order a copy: the unit and the row key."""
    if dataset.row_key is None:
        raise InvalidValue(
            f"{dataset.name!r} has no row_key, a column that differs between the rows of one "
            "unit. Declare one, such as the number of a visit."
        )
    return dataset.schema[dataset.unit.column], dataset.schema[dataset.row_key]


def types_of(table: tuple[str, ...], dialect: Dialect) -> str:
    """Return the statement that lists the names and types of a table's columns."""
    return dialect.describe_columns(table_at(table))


def create_copy(
    source: Dataset | PublicTable, table: tuple[str, ...], rows: exp.Select, dialect: Dialect
) -> tuple[str, ...]:
    """Return the statements that make a table of ``rows``, grouped by unit."""
    if not isinstance(source, Dataset):
        return dialect.create_copy(table_at(table), rows, None, ())
    unit = build.column(source.unit.column)
    order = [unit.copy(), *([build.column(PLACE)] if keeps_order(source) else [])]
    return dialect.create_copy(table_at(table), rows, unit, order)


def create_record(table: tuple[str, ...], facts: Sequence[str], dialect: Dialect) -> str:
    """Return the statement that makes the record of a copy, a table of facts about it."""
    rows: exp.Query | None = None
    for fact in facts:
        row = exp.select(build.alias(build.cast(exp.Literal.string(fact), "TEXT"), FACT))
        rows = row if rows is None else exp.union(rows, row, distinct=False)
    return dialect.create_table(table_at(table), rows or exp.select())


def facts_in(table: tuple[str, ...], dialect: Dialect) -> str:
    """Return the statement that reads the record of a copy."""
    return dialect.render(exp.select(FACT).from_(table_at(table)))


def rows_in(tables: Sequence[tuple[str, ...]], dialect: Dialect) -> str:
    """Return the statement that counts rows; its result has one row for each table."""
    first, *others = (
        exp.select(exp.Count(this=exp.Star())).from_(table_at(table)) for table in tables
    )
    counts: exp.Query = first
    for count in others:
        counts = exp.union(counts, count, distinct=False)
    return dialect.render(counts)


def tables_in(where: Sequence[str], dialect: Dialect) -> str:
    """Return the statement that lists the tables of a schema, of this or another database."""
    return dialect.list_tables(where)


def drop_table(table: tuple[str, ...], dialect: Dialect) -> str:
    """Return the statement that drops a table if it exists."""
    return dialect.render(exp.Drop(tables=[table_at(table)], kind="TABLE", exists=True))


def count_shared_keys(
    dataset: Dataset, key: str, tables: Sequence[tuple[str, ...]], dialect: Dialect
) -> str:
    """Return the statement that counts keys which a copy has in rows of more than one unit.

    In a table that is itself linked to another one, rows with the same link are one unit.
    """
    unit, shared = build.column(dataset.unit.column), build.column(key)
    found = _all_parts([unit, shared], tables).subquery("parts")
    units = exp.Count(this=exp.Distinct(expressions=[unit.copy()]))
    many = exp.GT(this=units, expression=build.literal(1))
    known = exp.not_(build.is_null(shared.copy()))
    keys = exp.select(build.literal(1)).from_(found).where(known).group_by(shared.copy())
    twice = keys.having(many).subquery("twice")
    return dialect.render(exp.select(exp.Count(this=exp.Star())).from_(twice))


def count_out_of_order(dataset: Dataset, table: tuple[str, ...], dialect: Dialect) -> str:
    """Return the statement that counts the rows of an ordered copy that are out of order."""
    unit = build.alias(_bytewise(dataset.schema[dataset.unit.column], dialect), UNIT)
    rows = exp.select(unit, build.column(PLACE)).from_(table_at(table))
    seen = kept_rows("tacit_rows", [], 1, RowOrder((), PLACE), "")
    broken = exp.EQ(this=build.column(BROKEN), expression=build.literal(1))
    count = build.select_from(list(seen)[-1], exp.Count(this=exp.Star())).where(broken)
    return dialect.render(build.with_relations(count, {"tacit_rows": rows, **seen}))


def count_split_units(
    dataset: Dataset, tables: Sequence[tuple[str, ...]], dialect: Dialect
) -> str:
    """Return the statement that counts units with rows in more than one part of a copy."""
    unit = build.column(dataset.unit.column)
    many = exp.GT(this=exp.Count(this=exp.Star()), expression=build.literal(1))
    found = _all_parts([unit], tables).subquery("parts")
    twice = exp.select(build.literal(1)).from_(found).group_by(unit).having(many)
    return dialect.render(exp.select(exp.Count(this=exp.Star())).from_(twice.subquery("twice")))


def _all_parts(names: Sequence[exp.Expr], tables: Sequence[tuple[str, ...]]) -> exp.Query:
    """Return the distinct values of these columns in each part of a copy."""
    first, *others = (
        exp.select(*(name.copy() for name in names)).distinct().from_(table_at(table))
        for table in tables
    )
    rows: exp.Query = first
    for part in others:
        rows = exp.union(rows, part, distinct=False)
    return rows


def _is_one() -> exp.Expr:
    return exp.EQ(this=build.column(SEEN), expression=build.literal(1))


def _bytewise(named: Column, dialect: Dialect) -> exp.Expr:
    return build.bytewise(build.column(named.name), dialect, text=named.kind is Kind.TEXT)
