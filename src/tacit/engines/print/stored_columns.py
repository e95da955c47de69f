"""Stored types that are converted to their kind wherever a column is read.

Databases have types that no printed statement could use as they are: they have comparisons of
their own (char ignores blanks at the end, an enum is ordered by its labels' places), or their
meaning depends on a setting (an instant, which is a timestamp with a time zone, is shown in the
zone of the session). The owner declares such a type, and each column of that type passes
through `read_value`, in questions and when a copy is made:

- a UUID is its text in lower case with hyphens; another text is NULL;
- a char is its text without blanks at the end;
- an enum is the text of its label;
- money and a numeric without digits are decimals with the digits of the declared step; numbers
  with more than 20 digits before the point, NaN and infinities are NULL;
- an instant is the local time in the declared zone. It is NULL before the second and after the
  last but one day of the years 1 to 9999, so that no local time is out of range.

Guarantee: no expression fails, whatever a column of the type contains, and none depends on a
setting or on the time zones of the engine.
"""

from datetime import datetime
from functools import lru_cache

from sqlglot import exp

from tacit.core import Column, Kind, StoredAs, changes_of
from tacit.engines.print.sql_builder import cast, choose, compare, literal
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.validated_columns import between, target_type
from tacit.plan import Comparison

UUID_TEXT = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
UUID_LENGTH = 36
"""A UUID as text. Engines differ about the end of a text in patterns, so its length is used."""

FIRST_INSTANT, LAST_INSTANT = "0001-01-02 00:00:00", "9999-12-30 23:59:59.999999"


def read_value(value: exp.Expr, column: Column, dialect: Dialect) -> exp.Expr:
    """Return the value of ``column`` in the type of its kind, from its stored ``value``.

    Example:
        >>> from tacit.engines.print.sql_dialects import DUCKDB
        >>> status = Column("status", Kind.TEXT, stored=StoredAs.ENUM)
        >>> read_value(exp.column("status"), status, DUCKDB).sql("duckdb")
        'CAST(status AS TEXT)'
    """
    if column.zone is not None:
        return exp.Var(this=_local_time_text(value.sql(dialect.name), column.zone, dialect))
    match column.stored:
        case StoredAs.ENUM:
            return cast(value, "TEXT")
        case StoredAs.CHAR:
            text = dialect.cell(cast(value, "TEXT"), Kind.TEXT)
            blank = exp.Literal.string(" ")
            return exp.Trim(this=text, expression=blank, position="TRAILING")
        case StoredAs.UUID:
            return _uuid(value, dialect)
        case StoredAs.MONEY | StoredAs.NUMERIC:
            number = cast(value, "DECIMAL") if column.stored is StoredAs.MONEY else value
            target = target_type(column, dialect)
            return dialect.cast_or_null(number, column, "numeric", target)
    return value


def _uuid(value: exp.Expr, dialect: Dialect) -> exp.Expr:
    """Return a UUID in lower case; NULL for another text."""
    text = dialect.cell(cast(value, "TEXT"), Kind.TEXT)
    length = exp.Anonymous(this=dialect.text_length, expressions=[text])
    matched = exp.RegexpLike(this=text.copy(), expression=exp.Literal.string(UUID_TEXT))
    letters = (exp.Literal.string(each) for each in ("ABCDEF", "abcdef"))
    lower = exp.Anonymous(this="TRANSLATE", expressions=[text.copy(), *letters])
    is_uuid = exp.and_(compare(Comparison.EQUAL, length, literal(UUID_LENGTH)), matched)
    return choose([(is_uuid, lower)], None)


@lru_cache(maxsize=256)
def _local_time_text(value: str, zone: str, dialect: Dialect) -> str:
    """Return the local time of an instant as text of SQL.

    A zone can have some hundreds of changes. The text is made once, because to render it takes
    longer than the rest of a statement.
    """
    utc = dialect.utc_time(exp.Var(this=value))
    first, changes = changes_of(zone)
    low, high = (_time(end) for end in (FIRST_INSTANT, LAST_INSTANT))
    local = utc
    if first or changes:
        ahead = _ahead(utc, (first, *(seconds for _, seconds in changes)), changes)
        local = exp.Add(this=utc.copy(), expression=ahead)
    known = choose([(between(utc, low, high), local)], None)
    return dialect.render(known)


def _ahead(
    utc: exp.Expr, seconds: tuple[int, ...], changes: tuple[tuple[datetime, int], ...]
) -> exp.Expr:
    """Return the difference between local time and UTC, by a binary search in its changes.

    ``seconds`` has one more entry than ``changes``: the difference before the first of them.
    """
    if not changes:
        unit = exp.var("SECOND")
        whole = exp.Interval(this=exp.Literal.string(str(abs(seconds[0]))), unit=unit)
        return exp.Neg(this=whole) if seconds[0] < 0 else whole
    middle = len(changes) // 2
    before = compare(Comparison.LESS, utc.copy(), _time(changes[middle][0].isoformat(" ")))
    left = _ahead(utc, seconds[: middle + 1], changes[:middle])
    right = _ahead(utc, seconds[middle + 1 :], changes[middle + 1 :])
    return choose([(before, left)], right)


def _time(text: str) -> exp.Expr:
    return cast(exp.Literal.string(text), "TIMESTAMPNTZ")
