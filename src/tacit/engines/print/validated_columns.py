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

from fractions import Fraction
from sys import float_info

from sqlglot import exp

from tacit.core import Column, Kind
from tacit.engines.print.sql_builder import bytewise, cast, choose, compare, double, literal
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.storage_rules import MOST_AFTER, MOST_BEFORE
from tacit.errors import InvalidValue
from tacit.plan import Comparison

TEXT_BYTES = 1_000
"""Bytes of a text that is copied, unless the owner declares another number."""

FIRST_TIME, LAST_TIME = "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"
FIRST_DAY, LAST_DAY = FIRST_TIME[:10], LAST_TIME[:10]


def cast_to_declared(column: Column, physical: str, dialect: Dialect) -> exp.Expr:
    """The value of ``column``, which has the type ``physical``, in its declared type, or NULL.

    Guarantee: it does not fail, whatever the column holds.

    Example:
        >>> from tacit.core.domain import Column, Kind
        >>> from tacit.engines.print.sql_dialects import DUCKDB
        >>> cast_to_declared(Column("age", Kind.INTEGER), "VARCHAR", DUCKDB).sql("duckdb")
        'TRY_CAST("age" AS BIGINT)'
    """
    value = exp.column(exp.to_identifier(column.name, quoted=True))
    if not dialect.plain_types:
        raise InvalidValue(f"No copies are made in the SQL of {dialect.name}.")
    if _fits(column.kind, physical, dialect):
        return dialect.copied_value(value, column, physical)
    return dialect.cast_or_null(value, column, physical, _target_type(column, dialect))


def _fits(kind: Kind, physical: str, dialect: Dialect) -> bool:
    match = dialect.plain_types[kind].fullmatch(physical)
    if match is None or kind is not Kind.DECIMAL:
        return match is not None
    digits, after = int(match["digits"]), int(match["after"])
    return 0 <= after <= MOST_AFTER and digits - after <= MOST_BEFORE


def in_range(column: Column, dialect: Dialect, text_bytes: int = TEXT_BYTES) -> exp.Expr:
    """A value of the right type, where it is in the range that questions are answered for.

    Guarantee: it does not fail, whatever value of that type the column holds.
    """
    value = exp.column(exp.to_identifier(column.name, quoted=True))
    match column.kind:
        case Kind.FLOAT:
            zero = compare(Comparison.EQUAL, value, double(0.0))
            finite = between(value, double(-float_info.max), double(float_info.max))
            return choose([(zero, double(0.0)), (finite, value.copy())], None)
        case Kind.DATE:
            low, high = (cast(exp.Literal.string(end), "DATE") for end in (FIRST_DAY, LAST_DAY))
            return choose([(between(value, low, high), value.copy())], None)
        case Kind.TIMESTAMP:
            low, high = (_time(end, dialect) for end in (FIRST_TIME, LAST_TIME))
            return choose([(between(value, low, high), value.copy())], None)
        case Kind.DECIMAL:
            return dialect.finite(value)
        case Kind.TEXT:
            return _text(value, dialect, text_bytes)
        case _:
            return value


def _text(value: exp.Expr, dialect: Dialect, text_bytes: int) -> exp.Expr:
    """Text of at most so many bytes, valid, and without a collation of its own."""
    length = exp.Anonymous(this=dialect.text_length, expressions=[value])
    short = compare(Comparison.AT_MOST, length, literal(text_bytes))
    plain = dialect.valid_text(value.copy())
    return bytewise(choose([(short, plain)], None), dialect, text=True)


def _target_type(column: Column, dialect: Dialect) -> str:
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
        Kind.TIMESTAMP: dialect.timestamp,
    }[column.kind]


def _digits_after(step: Fraction) -> int:
    """Digits after the point of a step, which is a decimal number."""
    digits = 0
    while (step * 10**digits).denominator != 1 and digits < MOST_AFTER:
        digits += 1
    return digits


def between(value: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    """Return whether a value lies between two others, or is one of them."""
    return exp.and_(
        compare(Comparison.AT_LEAST, value.copy(), low),
        compare(Comparison.AT_MOST, value.copy(), high),
    )


def _time(text: str, dialect: Dialect) -> exp.Expr:
    return cast(exp.Literal.string(text), dialect.timestamp)
