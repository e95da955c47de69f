"""The dialect of PostgreSQL, in which a CASE checks each value before it is cast.

DuckDB and Spark have TRY_CAST. PostgreSQL has no such function, and a cast can fail. So a CASE
first checks whether the cast would succeed. A cast for which this cannot be checked is refused
with a message to the owner.
"""

import re
from collections.abc import Callable
from typing import ClassVar

from sqlglot import exp

from tacit.core import Column, Kind, StoredAs
from tacit.engines.print.expressions import compared_by_bytes, short_or_null
from tacit.engines.print.sql_builder import cast, choose, compare, double, literal, paren
from tacit.engines.print.sql_dialect import Dialect, PlainTypes, refuse_cast
from tacit.engines.print.sql_dialects import decimals_as_they_are
from tacit.engines.print.validated_columns import FIRST_TIME, LAST_TIME, between
from tacit.engines.storage_rules import INSTANT, MOST_BEFORE, Types
from tacit.plan import Comparison

LONG = 2**63 - 1

TYPES_OF_COLUMNS = """\
WITH RECURSIVE found AS (
 SELECT attname, attnum, atttypid AS kind, atttypmod AS more FROM pg_attribute
 WHERE attrelid = {table}::regclass AND attnum > 0 AND NOT attisdropped
 UNION ALL
 SELECT attname, attnum, typbasetype, typtypmod FROM found JOIN pg_type ON pg_type.oid = kind
 WHERE typbasetype <> 0)
SELECT attname, CASE typtype WHEN 'e' THEN 'enum' ELSE format_type(kind, more) END
FROM found JOIN pg_type ON pg_type.oid = kind
WHERE typbasetype = 0 ORDER BY attnum"""
"""Lists columns with their types: "enum", or for a domain, the type on which it is based."""

NUMERIC = re.compile(r"smallint|integer|bigint|numeric.*|real|double precision")
TIMES = re.compile(r"date|timestamp.*")
WHOLE, POINTED = r"^[+-]?[0-9]{1,18}$", r"^[+-]?[0-9]{1,18}([.][0-9]{1,18})?$"
"""Patterns of texts that are cast to numbers; other texts become NULL."""


class PostgresDialect(Dialect):
    """The dialect of PostgreSQL."""

    name = "postgres"
    rewrites = (decimals_as_they_are,)
    wide_integer = "DECIMAL"
    timestamp = "TIMESTAMP"
    plain_types: ClassVar[PlainTypes] = {
        Kind.BOOLEAN: re.compile("boolean"),
        Kind.INTEGER: re.compile("smallint|integer|bigint"),
        Kind.DECIMAL: re.compile(r"numeric\((?P<digits>\d+),(?P<after>-?\d+)\)"),
        Kind.FLOAT: re.compile("double precision"),
        Kind.TEXT: re.compile("text"),
        Kind.DATE: re.compile("date"),
        Kind.TIMESTAMP: re.compile(r"timestamp(\(\d\))? without time zone"),
    }
    stored_types: ClassVar[Types] = {
        StoredAs.UUID: re.compile("uuid|text|character varying.*"),
        StoredAs.CHAR: re.compile("text|bpchar|character.*"),
        StoredAs.ENUM: re.compile("enum"),
        StoredAs.MONEY: re.compile("money"),
        StoredAs.NUMERIC: re.compile("numeric.*"),
        INSTANT: re.compile(r"timestamp(\(\d\))? with time zone"),
    }

    def bytewise(self, value: exp.Expr) -> exp.Expr:
        """Return a text in the collation "C", which need not be the database's default."""
        return compared_by_bytes(value)

    def cell(self, value: exp.Expr, kind: Kind) -> exp.Expr:
        """Return text by its bytes, or NULL if long; decimals that are not numbers are NULL."""
        if kind is Kind.TEXT:
            return compared_by_bytes(short_or_null(value))
        return self.finite(value) if kind is Kind.DECIMAL else value

    def hex_to_integer(self, digits: exp.Expr) -> exp.Expr:
        """Return the integer that hexadecimal digits represent, by way of a bit string."""
        text = paren(exp.DPipe(this=exp.Literal.string("x"), expression=digits, safe=True))
        bits = exp.Cast(this=text, to=exp.DataType.build("BIT(32)", dialect=self.name))
        return cast(bits, "BIGINT")

    def unit_mark(self, unit: exp.Expr) -> exp.Expr:
        """Return the number of a unit in the order of all units."""
        ordered = exp.Order(expressions=[exp.Ordered(this=unit)])
        return exp.Window(this=exp.Anonymous(this="DENSE_RANK"), order=ordered)

    def copied_value(self, value: exp.Expr, column: Column, physical: str) -> exp.Expr:
        """Return a value in its own type; a domain over a decimal would lose its digits."""
        return cast(value, physical) if column.kind is Kind.DECIMAL else value

    def cast_or_null(
        self, value: exp.Expr, column: Column, physical: str, target: str
    ) -> exp.Expr:
        """Return a value cast to ``target`` by a CASE that casts only if the cast succeeds."""
        cast_by_case: dict[Kind, Callable[[exp.Expr, Column, str, str], exp.Expr]] = {
            Kind.INTEGER: _number_by_case,
            Kind.DECIMAL: _number_by_case,
            Kind.FLOAT: _float_by_case,
            Kind.DATE: _time_by_case,
            Kind.TIMESTAMP: _time_by_case,
            Kind.TEXT: _text_by_case,
        }
        found = cast_by_case.get(column.kind, _refuse)(value, column, physical, target)
        # the type of a CASE has no number of digits, but the column of a copy needs one
        return cast(found, target) if column.kind is Kind.DECIMAL else found

    def finite(self, value: exp.Expr) -> exp.Expr:
        """Return a decimal, or NULL for NaN; a CASE would lose the digits of its type."""
        return exp.func("NULLIF", value, cast(exp.Literal.string("NaN"), "DECIMAL"))

    def describe_columns(self, table: exp.Expr) -> str:
        """Return the statement that lists the names and types of a table's columns."""
        name = self.render(exp.Literal.string(self.render(table)))
        return TYPES_OF_COLUMNS.format(table=name)


def _number_by_case(value: exp.Expr, column: Column, physical: str, target: str) -> exp.Expr:
    most = LONG - 1024 if column.kind is Kind.INTEGER else 10**MOST_BEFORE - 2
    # the float nearest to the largest number may be above it
    ends = literal(-most), literal(most)
    if NUMERIC.fullmatch(physical):
        known = between(value, *(cast(end, "DECIMAL") for end in ends))
        if physical in {"real", "double precision"}:
            known = between(value, *(double(float(each)) for each in (-most, most)))
        return choose([(known, cast(value.copy(), target))], None)
    if physical == "boolean":
        return cast(cast(value, "INT"), target)
    if physical.startswith(("text", "character")):
        pattern = WHOLE if column.kind is Kind.INTEGER else POINTED
        return choose([(_matches(value, pattern), cast(value.copy(), target))], None)
    return _refuse(value, column, physical, target)


def _float_by_case(value: exp.Expr, column: Column, physical: str, target: str) -> exp.Expr:
    if physical.startswith("numeric"):
        # PostgreSQL fails on numbers too large for a float, or too close to 0
        least, most = (cast(exp.Literal.string(end), "DECIMAL") for end in ("1e-300", "1e300"))
        size = exp.Abs(this=value.copy())
        near = compare(Comparison.LESS, size, least)
        inside = compare(Comparison.AT_MOST, size.copy(), most)
        return choose(
            [(near, double(0.0)), (inside, cast(value.copy(), "DOUBLE PRECISION"))], None
        )
    if NUMERIC.fullmatch(physical):
        return cast(value, "DOUBLE PRECISION")
    if physical.startswith(("text", "character")):
        known = _matches(value, POINTED)
        return choose([(known, cast(value.copy(), "DOUBLE PRECISION"))], None)
    return _refuse(value, column, physical, target)


def _time_by_case(value: exp.Expr, column: Column, physical: str, target: str) -> exp.Expr:
    if not TIMES.fullmatch(physical):
        return _refuse(value, column, physical, target)
    ends = (
        cast(exp.Literal.string(end), "TIMESTAMPTZ" if "with time" in physical else "TIMESTAMP")
        for end in (FIRST_TIME, LAST_TIME)
    )
    return choose([(between(value, *ends), cast(value.copy(), target))], None)


def _text_by_case(value: exp.Expr, column: Column, physical: str, target: str) -> exp.Expr:
    del column, physical
    return cast(value, target)


def _refuse(value: exp.Expr, column: Column, physical: str, target: str) -> exp.Expr:
    del target
    raise refuse_cast(value, column, physical, "PostgreSQL")


def _matches(value: exp.Expr, pattern: str) -> exp.Expr:
    return exp.RegexpLike(this=value.copy(), expression=exp.Literal.string(pattern))


POSTGRES = PostgresDialect()
