"""The values of a validated copy: each is of its declared type and in range, or NULL.

A table may contain whatever its engine ever accepted: text that is not UTF-8, days of the year
290,000, numbers in a column of another type, keys that are equal in a collation. A question
that meets such a value could fail, or group people by it, and this would reveal one person. So
such values are not copied. Each column has one expression, which is a function of the row's own
value and cannot fail. It has two steps, `cast_to_declared` and `in_range`:

- a value that is not of the declared type, or out of its range, becomes NULL;
- text is valid UTF-8 with a limited number of bytes, and is compared by its bytes; a longer
  text becomes NULL, because a truncated text could be equal to another person's text;
- floats are finite, and there is one zero;
- days and times are those of the years 1 to 9999.

DuckDB and Spark have TRY_CAST. PostgreSQL has no such function: see `postgres_dialect`.
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
"""The longest text in bytes that is copied, unless the owner declares another limit."""

FIRST_TIME, LAST_TIME = "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"
FIRST_DAY, LAST_DAY = FIRST_TIME[:10], LAST_TIME[:10]


def cast_to_declared(column: Column, physical: str, dialect: Dialect) -> exp.Expr:
    """Return the value of a column of the type ``physical`` in its declared type, or NULL.

    Guarantee: the expression does not fail, whatever the column contains.

    Example:
        >>> from tacit.core.domain import Column, Kind
        >>> from tacit.engines.print.sql_dialects import DUCKDB
        >>> cast_to_declared(Column("age", Kind.INTEGER), "VARCHAR", DUCKDB).sql("duckdb")
        'TRY_CAST("age" AS BIGINT)'
    """
    value = exp.column(exp.to_identifier(column.name, quoted=True))
    if not dialect.plain_types:
        raise InvalidValue(
            f"Copies are not supported in the dialect {dialect.name}. Use another engine."
        )
    if _fits(column.kind, physical, dialect):
        return dialect.copied_value(value, column, physical)
    return dialect.cast_or_null(value, column, physical, target_type(column, dialect))


def _fits(kind: Kind, physical: str, dialect: Dialect) -> bool:
    match = dialect.plain_types[kind].fullmatch(physical)
    if match is None or kind is not Kind.DECIMAL:
        return match is not None
    digits, after = int(match["digits"]), int(match["after"])
    return 0 <= after <= MOST_AFTER and digits - after <= MOST_BEFORE


def in_range(column: Column, dialect: Dialect, text_bytes: int = TEXT_BYTES) -> exp.Expr:
    """Return a value of the declared type, or NULL if it is out of the supported range.

    Guarantee: the expression does not fail, whatever value of that type the column contains.
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
    """Return valid text of at most ``text_bytes`` bytes, compared by its bytes, or NULL."""
    length = exp.Anonymous(this=dialect.text_length, expressions=[value])
    short = compare(Comparison.AT_MOST, length, literal(text_bytes))
    plain = dialect.valid_text(value.copy())
    return bytewise(choose([(short, plain)], None), dialect, text=True)


def target_type(column: Column, dialect: Dialect) -> str:
    """Return the type to which a column of another type is cast."""
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
    """Return the number of digits after the point of a step, which is a decimal."""
    digits = 0
    while (step * 10**digits).denominator != 1 and digits < MOST_AFTER:
        digits += 1
    return digits


def between(value: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    """Return the condition that a value is at least ``low`` and at most ``high``."""
    return exp.and_(
        compare(Comparison.AT_LEAST, value.copy(), low),
        compare(Comparison.AT_MOST, value.copy(), high),
    )


def _time(text: str, dialect: Dialect) -> exp.Expr:
    return cast(exp.Literal.string(text), dialect.timestamp)
