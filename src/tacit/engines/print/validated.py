"""What a validated copy holds of each column: a value of its declared type, in range, or NULL.

A table may hold whatever its engine ever accepted: text that is no UTF-8, days of the year
290,000, numbers in a column of another type, keys that a collation takes for equal. A question
that met such a value could fail, or count people by it, and whether it does would tell of one
person. So none of it is copied. Each column has one expression, which is a function of the
row's own value alone and does not fail. It comes in two steps, `typed` and `in_range`:

- a value that is no value of the declared type, or out of its range, becomes NULL;
- text is valid UTF-8 of at most so many bytes, and compared by them; a longer one becomes NULL,
  since a cut one could become equal to another person's;
- floats are finite, and there is one zero;
- days and times are those of the years 1 to 9999.

DuckDB and Spark have TRY_CAST. PostgreSQL has none: there, a CASE asks first whether a cast
would succeed, and a cast for which that cannot be asked is refused to the owner.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from sys import float_info

from sqlglot import exp

from tacit.core.column import Column, Kind
from tacit.engines.physical_types import MOST_AFTER, MOST_BEFORE
from tacit.engines.print.word import bytewise, cast, choose, compare, double, literal
from tacit.errors import InvalidValue
from tacit.plan.expression import Comparison

TEXT_BYTES = 1_000
"""Bytes of a text that is copied, unless the owner declares another number."""

LONG = 2**63 - 1
FIRST_TIME, LAST_TIME = "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"
FIRST_DAY, LAST_DAY = FIRST_TIME[:10], LAST_TIME[:10]

Types = dict[str, dict[Kind, re.Pattern[str]]]

AS_THEY_ARE: Types = {
    "duckdb": {
        Kind.BOOLEAN: re.compile("BOOLEAN"),
        Kind.INTEGER: re.compile("U?(TINYINT|SMALLINT|INTEGER|BIGINT)|HUGEINT"),
        Kind.DECIMAL: re.compile(r"DECIMAL\((?P<digits>\d+),(?P<after>\d+)\)"),
        Kind.FLOAT: re.compile("DOUBLE"),
        Kind.TEXT: re.compile("VARCHAR"),
        Kind.DATE: re.compile("DATE"),
        Kind.TIMESTAMP: re.compile("TIMESTAMP"),
    },
    "postgres": {
        Kind.BOOLEAN: re.compile("boolean"),
        Kind.INTEGER: re.compile("smallint|integer|bigint"),
        Kind.DECIMAL: re.compile(r"numeric\((?P<digits>\d+),(?P<after>-?\d+)\)"),
        Kind.FLOAT: re.compile("double precision"),
        Kind.TEXT: re.compile("text"),
        Kind.DATE: re.compile("date"),
        Kind.TIMESTAMP: re.compile("timestamp without time zone"),
    },
    "spark": {
        Kind.BOOLEAN: re.compile("boolean"),
        Kind.INTEGER: re.compile("tinyint|smallint|int|bigint"),
        Kind.DECIMAL: re.compile(r"decimal\((?P<digits>\d+),(?P<after>\d+)\)"),
        Kind.FLOAT: re.compile("double"),
        Kind.TEXT: re.compile("string"),
        Kind.DATE: re.compile("date"),
        Kind.TIMESTAMP: re.compile("timestamp_ntz"),
    },
}
"""Types whose values are copied without a cast, by how an engine describes them."""


def typed(column: Column, physical: str, dialect: str) -> exp.Expr:
    """The value of ``column``, which has the type ``physical``, in its declared type, or NULL.

    Guarantee: it does not fail, whatever the column holds.

    Example:
        >>> from tacit.core.column import Column, Kind
        >>> typed(Column("age", Kind.INTEGER), "VARCHAR", "duckdb").sql("duckdb")
        'TRY_CAST("age" AS BIGINT)'
    """
    value = exp.column(exp.to_identifier(column.name, quoted=True))
    if _fits(column.kind, physical, dialect):
        if dialect == "postgres" and column.kind is Kind.DECIMAL:
            return cast(value, physical)  # a domain over it would lose its digits
        return value
    if dialect == "postgres":
        found = _cast_by_case(value, column, physical)
        # a CASE has no number of digits, and the column of a copy needs one
        return cast(found, _target(column)) if column.kind is Kind.DECIMAL else found
    return _cast_or_null(value, column, dialect)


def _fits(kind: Kind, physical: str, dialect: str) -> bool:
    match = AS_THEY_ARE[dialect][kind].fullmatch(physical)
    if match is None or kind is not Kind.DECIMAL:
        return match is not None
    digits, after = int(match["digits"]), int(match["after"])
    return 0 <= after <= MOST_AFTER and digits - after <= MOST_BEFORE


def in_range(column: Column, dialect: str, text_bytes: int = TEXT_BYTES) -> exp.Expr:
    """A value of the right type, where it is in the range that questions are answered for.

    Guarantee: it does not fail, whatever value of that type the column holds.
    """
    value = exp.column(exp.to_identifier(column.name, quoted=True))
    match column.kind:
        case Kind.FLOAT:
            zero = compare(Comparison.EQUAL, value, double(0.0))
            finite = _between(value, double(-float_info.max), double(float_info.max))
            return choose([(zero, double(0.0)), (finite, value.copy())], None)
        case Kind.DATE:
            low, high = (cast(exp.Literal.string(end), "DATE") for end in (FIRST_DAY, LAST_DAY))
            return choose([(_between(value, low, high), value.copy())], None)
        case Kind.TIMESTAMP:
            low, high = (_time(end, dialect) for end in (FIRST_TIME, LAST_TIME))
            return choose([(_between(value, low, high), value.copy())], None)
        case Kind.DECIMAL if dialect == "postgres":
            # a numeric of PostgreSQL may be no number; a CASE would lose its digits
            return exp.func("NULLIF", value, cast(exp.Literal.string("NaN"), "DECIMAL"))
        case Kind.TEXT:
            return _text(value, dialect, text_bytes)
        case _:
            return value


def _text(value: exp.Expr, dialect: str, text_bytes: int) -> exp.Expr:
    """Text of at most so many bytes, valid, and without a collation of its own."""
    length = "STRLEN" if dialect == "duckdb" else "OCTET_LENGTH"
    short = compare(Comparison.AT_MOST, _call(length, value), literal(text_bytes))
    plain = value.copy()
    if dialect == "duckdb":
        plain = _call("TRY", _call("DECODE", _call("ENCODE", plain)))
    elif dialect == "spark":
        plain = _call("TRY_VALIDATE_UTF8", plain)
    return bytewise(choose([(short, plain)], None), dialect, text=True)


def _cast_or_null(value: exp.Expr, column: Column, dialect: str) -> exp.Expr:
    """A cast that is NULL where there is no value."""
    # without a zone: DuckDB calls that TIMESTAMP, and Spark TIMESTAMP_NTZ
    target = "TIMESTAMPNTZ" if column.kind is Kind.TIMESTAMP else _target(column)
    kind = exp.DataType.build(target)
    if dialect != "spark":
        return exp.TryCast(this=value, to=kind)
    # sqlglot would print a CAST, which fails
    return _call("TRY_CAST", exp.Alias(this=value, alias=exp.var(kind.sql(dialect))))


def _target(column: Column) -> str:
    """The type that a column of another one is cast to."""
    if column.kind is Kind.DECIMAL:
        after = min(_digits_after(column.step or Fraction(1)), MOST_AFTER)
        return f"DECIMAL({MOST_BEFORE + after}, {after})"
    return {
        Kind.BOOLEAN: "BOOLEAN",
        Kind.INTEGER: "BIGINT",
        Kind.FLOAT: "DOUBLE",
        Kind.TEXT: "TEXT",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP: "TIMESTAMP",
    }[column.kind]


def _digits_after(step: Fraction) -> int:
    """Digits after the point of a step, which is a decimal number."""
    digits = 0
    while (step * 10**digits).denominator != 1 and digits < MOST_AFTER:
        digits += 1
    return digits


NUMERIC = re.compile(r"smallint|integer|bigint|numeric.*|real|double precision")
TIMES = re.compile(r"date|timestamp.*")
WHOLE, POINTED = r"^[+-]?[0-9]{1,18}$", r"^[+-]?[0-9]{1,18}([.][0-9]{1,18})?$"
"""Texts that PostgreSQL casts to a number; others become NULL."""


def _cast_by_case(value: exp.Expr, column: Column, physical: str) -> exp.Expr:
    """The same on PostgreSQL, whose casts fail: only what was asked about first is cast."""
    made: Callable[[exp.Expr, Column, str], exp.Expr] = {
        Kind.INTEGER: _number_by_case,
        Kind.DECIMAL: _number_by_case,
        Kind.FLOAT: _float_by_case,
        Kind.DATE: _time_by_case,
        Kind.TIMESTAMP: _time_by_case,
        Kind.TEXT: _text_by_case,
    }.get(column.kind, _refuse)
    return made(value, column, physical)


def _number_by_case(value: exp.Expr, column: Column, physical: str) -> exp.Expr:
    most = LONG - 1024 if column.kind is Kind.INTEGER else 10**MOST_BEFORE - 2
    # the nearest float to the greatest number may be above it
    ends = literal(-most), literal(most)
    if NUMERIC.fullmatch(physical):
        known = _between(value, *(cast(end, "DECIMAL") for end in ends))
        if physical in {"real", "double precision"}:
            known = _between(value, *(double(float(each)) for each in (-most, most)))
        return choose([(known, cast(value.copy(), _target(column)))], None)
    if physical == "boolean":
        return cast(cast(value, "INT"), _target(column))
    if physical.startswith(("text", "character")):
        pattern = WHOLE if column.kind is Kind.INTEGER else POINTED
        return choose([(_matches(value, pattern), cast(value.copy(), _target(column)))], None)
    return _refuse(value, column, physical)


def _float_by_case(value: exp.Expr, column: Column, physical: str) -> exp.Expr:
    if physical.startswith("numeric"):
        # a float that is too great, or too near to 0, is an error
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
    return _refuse(value, column, physical)


def _time_by_case(value: exp.Expr, column: Column, physical: str) -> exp.Expr:
    if not TIMES.fullmatch(physical):
        return _refuse(value, column, physical)
    ends = (
        cast(exp.Literal.string(end), "TIMESTAMPTZ" if "with time" in physical else "TIMESTAMP")
        for end in (FIRST_TIME, LAST_TIME)
    )
    return choose([(_between(value, *ends), cast(value.copy(), _target(column)))], None)


def _text_by_case(value: exp.Expr, column: Column, _: str) -> exp.Expr:
    return cast(value, _target(column))


def _refuse(value: exp.Expr, column: Column, physical: str) -> exp.Expr:
    raise InvalidValue(
        f"{value.name} is {physical} in the table and {column.kind.value} in the dataset, and "
        "PostgreSQL has no cast between them that cannot fail; declare the column by its own "
        "type, or leave it out of the dataset."
    )


def _between(value: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    return exp.and_(
        compare(Comparison.AT_LEAST, value.copy(), low),
        compare(Comparison.AT_MOST, value.copy(), high),
    )


def _time(text: str, dialect: str) -> exp.Expr:
    kind = "TIMESTAMP" if dialect == "postgres" else "TIMESTAMPNTZ"
    return cast(exp.Literal.string(text), kind)


def _matches(value: exp.Expr, pattern: str) -> exp.Expr:
    return exp.RegexpLike(this=value.copy(), expression=exp.Literal.string(pattern))


def _call(name: str, *given: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(given))
