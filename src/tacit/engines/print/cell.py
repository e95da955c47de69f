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

from sqlglot import exp

from tacit.core.column import Kind
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.word import choose, literal

LONGEST_TEXT = 2**20
"""Bytes of the longest text that PostgreSQL and Spark are asked about; a longer one is NULL.

Two texts of half a gigabyte do not fit into one row of PostgreSQL, and one of them ends Spark's
driver. DuckDB reads texts of any length. A prepared copy holds short texts on every engine.
"""


def cell(value: exp.Expr, kind: Kind, dialect: Dialect) -> exp.Expr:
    """Print a stored ``value`` with the meaning of its kind, whatever its table's writer did.

    Example:
        >>> from tacit.engines.print.sql_dialects import DUCKDB
        >>> cell(exp.column("ward"), Kind.TEXT, DUCKDB).sql(dialect="duckdb")
        'ward COLLATE "C"'
        >>> cell(exp.column("ward"), Kind.INTEGER, DUCKDB).sql(dialect="duckdb")
        'ward'
    """
    return dialect.cell(value, kind)


def compared_by_bytes(value: exp.Expr) -> exp.Expr:
    """Return a text that is compared by its bytes, whatever collation its column has."""
    return exp.Collate(this=value, expression=exp.to_identifier("C", quoted=True))


def short_or_null(value: exp.Expr) -> exp.Expr:
    """Return a text, and NULL where it is too long; its length is known without reading it."""
    length = exp.Anonymous(this="OCTET_LENGTH", expressions=[value])
    fits = exp.LTE(this=length, expression=literal(LONGEST_TEXT))
    return choose([(fits, value)], None)
