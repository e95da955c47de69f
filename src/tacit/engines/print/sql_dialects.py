"""The dialects of DuckDB, Spark, BigQuery, Snowflake and Trino.

The first part has rewrites of a statement's tree, for engines on which the SQL that sqlglot
prints would have another meaning.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from sqlglot import exp

from tacit.core import DAYS, Column, Kind, StoredAs
from tacit.engines.print.expressions import compared_by_bytes, short_or_null
from tacit.engines.print.sql_builder import cast, identifier, literal, paren
from tacit.engines.print.sql_dialect import Dialect, PlainTypes, Rewrite
from tacit.engines.print.sums_and_hashes import DIGITS, NARROW
from tacit.engines.storage_rules import INSTANT, Types


def wide_sums(wide: str) -> Rewrite:
    """Return a rewrite that casts sums to a wide type, so that none overflows."""

    def rewrite(query: exp.Expr) -> None:
        for node in _all(query, exp.Sum):
            if not node.meta.get(NARROW):
                node.set("this", exp.cast(node.this, wide))

    return rewrite


def exact_division(query: exp.Expr) -> None:
    """Divide integers without rounding: subtract the remainder before the division."""
    for node in _all(query, exp.IntDiv):
        rest = exp.Mod(this=exp.paren(node.this), expression=exp.paren(node.expression))
        whole = exp.paren(exp.Sub(this=exp.paren(node.this), expression=exp.paren(rest)))
        node.replace(exp.Div(this=whole, expression=node.expression, typed=True))


def exact_constants(query: exp.Expr) -> None:
    """Replace constants with a point, which would be floats, by decimals."""
    for node in _all(query, exp.Literal):
        if "." in node.name and not node.is_string and not isinstance(node.parent, exp.Cast):
            node.replace(exp.cast(exp.Literal.string(node.name), "BIGDECIMAL"))


def floats_by_text(query: exp.Expr) -> None:
    """Cast floats from their text, because a number would first be rounded to a decimal."""
    for node in _all(query, exp.Cast):
        if node.is_type("DOUBLE") and isinstance(node.this, exp.Literal):
            node.set("this", exp.Literal.string(node.this.name))


def days_before(query: exp.Expr) -> None:
    """Replace a day minus an INT by DATE_ADD, for engines without this subtraction."""
    for node in _all(query, exp.Sub):
        days = node.expression
        if isinstance(days, exp.Cast) and days.is_type("INT"):
            unit, back = exp.Literal.string("day"), exp.Neg(this=days)
            node.replace(exp.Anonymous(this="DATE_ADD", expressions=[unit, back, node.this]))


def decimals_as_they_are(query: exp.Expr) -> None:
    """Remove casts of decimals, for engines that enforce the digits of a type."""
    for node in _all(query, exp.TryCast):
        node.replace(node.this)


def _all(query: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    """Yield every node of a kind; the list is complete before the caller changes a node."""
    yield from list(query.find_all(kind))


# ------------------------------------------------------------------ sql dialects
# The dialects of DuckDB and Spark, and three dialects whose statements are not run yet.
#
# PostgreSQL has no cast that cannot fail; its dialect is in the module `postgres_dialect`.
# BigQuery, Snowflake and Trino have no engine. Their statements are compared with files that a
# person has read (`tests/engines/golden`), and they are not registered.

MOST_COMPARED = 4
"""The largest number of texts in an IN that DuckDB compares one by one, without a hash table.

With ``IS TRUE`` after such an IN, DuckDB compares the entries of a column's dictionary instead
of each row. This halves the time of a count by two cities.
"""

BUCKETS = 16
"""The number of buckets of a copy on Spark, more than the cores of one test machine."""


class DuckDBDialect(Dialect):
    """The dialect of DuckDB."""

    name = "duckdb"
    wide_integer = "INT128"
    text_length = "STRLEN"
    plain_types: ClassVar[PlainTypes] = {
        Kind.BOOLEAN: re.compile("BOOLEAN"),
        Kind.INTEGER: re.compile("U?(TINYINT|SMALLINT|INTEGER|BIGINT)|HUGEINT"),
        Kind.DECIMAL: re.compile(r"DECIMAL\((?P<digits>\d+),(?P<after>\d+)\)"),
        Kind.FLOAT: re.compile("DOUBLE"),
        Kind.TEXT: re.compile("VARCHAR"),
        Kind.DATE: re.compile("DATE"),
        Kind.TIMESTAMP: re.compile("TIMESTAMP"),
    }
    stored_types: ClassVar[Types] = {
        StoredAs.UUID: re.compile("UUID|VARCHAR"),
        StoredAs.CHAR: re.compile("VARCHAR"),
        StoredAs.ENUM: re.compile("ENUM.*", re.DOTALL),
        INSTANT: re.compile("TIMESTAMP WITH TIME ZONE"),
    }

    def cell(self, value: exp.Expr, kind: Kind) -> exp.Expr:
        """Return text that is compared by its bytes; other kinds need no change on DuckDB."""
        return compared_by_bytes(value) if kind is Kind.TEXT else value

    def utc_time(self, instant: exp.Expr) -> exp.Expr:
        """Return an instant as a timestamp in UTC, by way of its microseconds since 1970."""
        return _call("MAKE_TIMESTAMP", _call("EPOCH_US", instant))

    def is_one_of(self, value: exp.Expr, keys: Sequence[exp.Expr], *, text: bool) -> exp.Expr:
        """Return the condition; for few texts, in the form that is fastest on DuckDB."""
        inside = super().is_one_of(value, keys, text=text)
        if text and 1 < len(keys) <= MOST_COMPARED:
            return exp.Is(this=paren(inside), expression=exp.true())
        return inside

    def cast_or_null(
        self, value: exp.Expr, column: Column, physical: str, target: str
    ) -> exp.Expr:
        """Return a TRY_CAST; an instant is cast in UTC, and not in the session's zone."""
        if self.stored_types[INSTANT].fullmatch(physical) and column.kind in DAYS:
            value = self.utc_time(value)
        return super().cast_or_null(value, column, physical, target)

    def valid_text(self, value: exp.Expr) -> exp.Expr:
        """Return a text that is decoded again: a file may contain bytes that are not UTF-8."""
        return _call("TRY", _call("DECODE", _call("ENCODE", value)))


class SparkDialect(Dialect):
    """The dialect of Spark.

    A copy is one table with buckets of units. Each bucket is one sorted file, so that no row is
    shuffled or sorted when the copy is read. Spark knows the order from the table's metadata,
    and no statement checks it.
    """

    name = "spark"
    rewrites = (wide_sums("DECIMAL(38, 0)"), decimals_as_they_are)
    wide_integer = "DECIMAL(38, 0)"
    sums_by_limbs = True  # decimals are slow, because each value is an object
    streams_copies = False
    orders_copies = False
    plain_types: ClassVar[PlainTypes] = {
        Kind.BOOLEAN: re.compile("boolean"),
        Kind.INTEGER: re.compile("tinyint|smallint|int|bigint"),
        Kind.DECIMAL: re.compile(r"decimal\((?P<digits>\d+),(?P<after>\d+)\)"),
        Kind.FLOAT: re.compile("double"),
        Kind.TEXT: re.compile("string"),
        Kind.DATE: re.compile("date"),
        Kind.TIMESTAMP: re.compile("timestamp_ntz"),
    }
    stored_types: ClassVar[Types] = {
        StoredAs.UUID: re.compile("string"),
        StoredAs.CHAR: re.compile(r"(var)?char\(\d+\)|string"),
        INSTANT: re.compile("timestamp"),
    }

    def cell(self, value: exp.Expr, kind: Kind) -> exp.Expr:
        """Return text, or NULL if it is long or not UTF-8; collations are refused."""
        return self.valid_text(short_or_null(value)) if kind is Kind.TEXT else value

    def utc_time(self, instant: exp.Expr) -> exp.Expr:
        """Return an instant as a timestamp in UTC, which is the zone of Tacit's sessions."""
        return cast(instant, self.timestamp)

    def hex_to_integer(self, digits: exp.Expr) -> exp.Expr:
        """Return the integer that hexadecimal digits represent."""
        return cast(exp.func("CONV", digits, literal(16), literal(10)), "BIGINT")

    def unit_mark(self, unit: exp.Expr) -> exp.Expr:
        """Return the SHA-256 of a name: to number units would move all rows to one executor."""
        return _call("SHA2", cast(unit, "TEXT"), literal(256))

    def cast_or_null(
        self, value: exp.Expr, column: Column, physical: str, target: str
    ) -> exp.Expr:
        """Return a TRY_CAST as a call, because sqlglot would print a CAST, which can fail."""
        del column, physical
        kind = exp.DataType.build(target)
        return _call("TRY_CAST", exp.Alias(this=value, alias=exp.var(kind.sql(self.name))))

    def valid_text(self, value: exp.Expr) -> exp.Expr:
        """Return a text, or NULL if it is not UTF-8; Spark's strings can be any bytes."""
        return _call("TRY_VALIDATE_UTF8", value)

    def describe_columns(self, table: exp.Expr) -> str:
        """Return the statement that lists the names and types of a table's columns."""
        return super().describe_columns(table).replace("DESCRIBE", "DESCRIBE QUERY", 1)

    def create_table(self, table: exp.Expr, rows: exp.Expr) -> str:
        """Return the statement that makes a table of Parquet files."""
        return f"CREATE TABLE {self.render(table)} USING PARQUET AS {self.render(rows)}"

    def create_copy(
        self, table: exp.Expr, rows: exp.Expr, unit: exp.Expr | None, order: Sequence[exp.Expr]
    ) -> tuple[str, ...]:
        """Return a statement that makes an empty table, and one that fills it.

        If the process is killed while the table is filled, dropping the table deletes all files
        that were written.
        """
        name, query, how = self.render(table), self.render(rows), ""
        if unit is not None:
            by, sorted_by = self.render(unit), ", ".join(map(self.render, order))
            how = f" CLUSTERED BY ({by}) SORTED BY ({sorted_by}) INTO {BUCKETS} BUCKETS"
            query = f"SELECT /*+ REPARTITION({BUCKETS}, {by}) */ * FROM ({query})"  # noqa: S608
        empty = f"SELECT * FROM ({query}) WHERE FALSE"  # noqa: S608 - rendered
        return (
            f"CREATE TABLE {name} USING PARQUET{how} AS {empty}",
            f"INSERT INTO {name} {query}",
        )

    def list_tables(self, where: Sequence[str]) -> str:
        """Return the statement that lists the tables of a database."""
        return f"SHOW TABLES IN {self.render(identifier(where[-1]))}"

    def listed_table(self, row: Sequence[Any]) -> str:
        """Return the second cell of a row; the first is the name of the database."""
        return str(row[1])


class BigQueryDialect(Dialect):
    """The dialect of BigQuery, whose statements are printed and not run yet."""

    name = "bigquery"
    rewrites = (wide_sums("BIGDECIMAL"), exact_constants, decimals_as_they_are)


class SnowflakeDialect(Dialect):
    """The dialect of Snowflake, whose statements are printed and not run yet."""

    name = "snowflake"
    quotes_all = True
    rewrites = (exact_division, floats_by_text, decimals_as_they_are)

    def hex_to_integer(self, digits: exp.Expr) -> exp.Expr:
        """Return the integer that hexadecimal digits represent; the format has X for each."""
        return _call("TO_NUMBER", digits, exp.Literal.string("X" * DIGITS))


class TrinoDialect(Dialect):
    """The dialect of Trino, whose statements are printed and not run yet.

    Example:
        >>> TrinoDialect().render(exp.select(exp.Sum(this=exp.column("t0"))))
        'SELECT SUM(CAST(t0 AS DECIMAL(38, 0)))'
    """

    name = "trino"
    rewrites = (
        wide_sums("DECIMAL(38, 0)"),
        exact_division,
        floats_by_text,
        days_before,
        decimals_as_they_are,
    )

    def hex_to_integer(self, digits: exp.Expr) -> exp.Expr:
        """Return the integer that hexadecimal digits represent, by FROM_BASE."""
        return _call("FROM_BASE", digits, literal(16))


def _call(name: str, *given: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(given))


DUCKDB = DuckDBDialect()
SPARK = SparkDialect()
PRINTED = (BigQueryDialect(), SnowflakeDialect(), TrinoDialect())
"""Dialects that have no engine yet."""
