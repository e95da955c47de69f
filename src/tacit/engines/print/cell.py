"""How a stored value is read: the one place where storage gets the meaning of its kind.

A statement must not fail, nor change its meaning, by what a table's writer stored. Types alone
do not promise that: a text column may carry a collation by which 'north' and 'NORTH' are equal,
or by which a comparison with another column is an error of the engine; on Spark it may hold
bytes that are no text; on PostgreSQL it may hold a gigabyte. So every column passes through
`cell` where it is read from its table, and again in the condition of a join. What a question
does above that is done with plain values:

- text is compared, grouped and ordered by its bytes;
- text that is not UTF-8, or longer than `LONGEST_TEXT` bytes, is NULL;
- a decimal that is no number is NULL.

Floats that are not finite and days far away have their meaning where they are used
(`tacit.engines.print.row`, `tacit.engines.print.stage`).
"""

from collections.abc import Callable

from sqlglot import exp

from tacit.core.column import Kind
from tacit.engines.print.word import cast, choose, literal

LONGEST_TEXT = 2**20
"""Bytes of the longest text that PostgreSQL and Spark are asked about; a longer one is NULL.

Two texts of half a gigabyte do not fit into one row of PostgreSQL, and one of them ends Spark's
driver. DuckDB reads texts of any length. A prepared copy holds short texts on every engine.
"""


def cell(value: exp.Expr, kind: Kind, dialect: str) -> exp.Expr:
    """Print a stored ``value`` with the meaning of its kind, whatever its table's writer did.

    Example:
        >>> cell(exp.column("ward"), Kind.TEXT, "duckdb").sql(dialect="duckdb")
        'ward COLLATE "C"'
        >>> cell(exp.column("ward"), Kind.INTEGER, "duckdb").sql(dialect="duckdb")
        'ward'
    """
    if kind is Kind.TEXT and dialect in READ_TEXT:
        return READ_TEXT[dialect](value)
    if kind is Kind.DECIMAL and dialect == "postgres":
        return exp.func("NULLIF", value, cast(exp.Literal.string("NaN"), "DECIMAL"))
    return value


def _bytewise(value: exp.Expr) -> exp.Expr:
    """A text that is compared by its bytes, whatever collation its column was declared with."""
    return exp.Collate(this=value, expression=exp.to_identifier("C", quoted=True))


def _short(value: exp.Expr) -> exp.Expr:
    """A text; NULL where it is too long. The length is known without reading the text."""
    length = exp.Anonymous(this="OCTET_LENGTH", expressions=[value])
    fits = exp.LTE(this=length, expression=literal(LONGEST_TEXT))
    return choose([(fits, value)], None)


def _on_spark(value: exp.Expr) -> exp.Expr:
    """A text of Spark, whose strings are any bytes; its binary collation is the only one."""
    return exp.Anonymous(this="TRY_VALIDATE_UTF8", expressions=[_short(value)])


READ_TEXT: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    "duckdb": _bytewise,
    "postgres": lambda value: _bytewise(_short(value)),
    "spark": _on_spark,
}
"""How each engine's text is read. Other dialects refuse columns with a collation."""
