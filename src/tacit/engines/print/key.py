"""What names the group of a row: text or a whole number, and NULL where it is in none."""

from sqlglot import exp

from tacit.core.column import Kind
from tacit.engines.print.row import after_monday, clamped_day, condition, steps
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.word import cast, choose, column, compare, is_null, literal, paren
from tacit.plan.bounded import BoundedKey, CaseKey, ColumnKey, PeriodKey, StepsKey
from tacit.plan.calendar import Part, Span
from tacit.plan.expression import Comparison
from tacit.plan.steps import PartSteps


def named(key: BoundedKey) -> exp.Expr:
    """The name of a row's group."""
    match key:
        case CaseKey(_, whens, otherwise, _):
            pairs = [(condition(when), literal(name)) for when, name in whens]
            return choose(pairs, literal(otherwise))
        case PeriodKey():
            return _start(key)
        case StepsKey(_, number, _):
            return steps(number)
        case ColumnKey(_, name, Kind.BOOLEAN, _):
            not_so = exp.not_(paren(column(name)))
            return choose([(column(name), literal(1)), (not_so, literal(0))], None)
        case ColumnKey(_, name, Kind.DATE, _):
            return cast(column(name), "VARCHAR")
        case ColumnKey(_, name, _, _):
            return column(name)


def is_text(key: BoundedKey) -> bool:
    """Whether groups are named by text, and else by whole numbers."""
    match key:
        case ColumnKey(_, _, kind, _):
            return kind in {Kind.TEXT, Kind.DATE}
        case CaseKey(_, _, _, keys):
            return isinstance(keys.values[0], str)
        case PeriodKey():
            return True
        case StepsKey():
            return False


def is_group(key: BoundedKey, name: str, dialect: Dialect) -> exp.Expr:
    """Whether the column ``name`` names a group: one of the public ones, where they are."""
    if not isinstance(key, ColumnKey | StepsKey) or not key.keys:
        return exp.not_(is_null(column(name)))
    values = list(map(literal, key.keys.values))
    return dialect.is_one_of(column(name), values, text=is_text(key))


def _start(key: PeriodKey) -> exp.Expr:
    """The text of the day that a period starts on.

    Not by DATE_TRUNC: where a table holds days near the ends of its type, DuckDB fails on them
    although they are filtered out, since it is taken of the column's least and greatest.
    """
    day = clamped_day(key.day)
    match key.span:
        case Span.DAYS:
            return cast(day, "VARCHAR")
        case Span.WEEKS:
            since = cast(after_monday(key.day), "INT")
            return cast(paren(exp.Sub(this=day, expression=since)), "VARCHAR")
        case Span.MONTHS:
            return _opening(day, len("2026-01-"), literal("01"))
        case Span.QUARTERS:
            quarter = steps(PartSteps(key.day, Part.QUARTER))
            pairs = [
                (compare(Comparison.EQUAL, quarter, literal(number)), literal(f"{month}-01"))
                for number, month in enumerate(("01", "04", "07", "10"), start=1)
            ]
            return _opening(day, len("2026-"), choose(pairs, None))
        case Span.YEARS:
            return _opening(day, len("2026-"), literal("01-01"))


def _opening(day: exp.Expr, length: int, rest: exp.Expr) -> exp.Expr:
    """The first characters of a day, and others after them."""
    start = exp.Substring(this=cast(day, "VARCHAR"), start=literal(1), length=literal(length))
    return paren(exp.DPipe(this=start, expression=rest, safe=True))
