"""Where the groups of a question come from."""

from fractions import Fraction

from tacit.core.column import Column, Kind
from tacit.core.day import day_of
from tacit.core.keys import Key, Keys
from tacit.core.schema import Schema
from tacit.errors import InvalidValue
from tacit.plan.bounded import BoundedKey, CaseKey, ColumnKey, PeriodKey
from tacit.plan.calendar import Span
from tacit.plan.days import clamped_days, day_column
from tacit.plan.expression import (
    Bin,
    Case,
    Compare,
    Comparison,
    Constant,
    DatePart,
    Expression,
    Field,
    Period,
)
from tacit.plan.on_grid import condition, number
from tacit.plan.plan import GroupKey
from tacit.plan.size import LARGEST_QUESTION, size

GROUPED = {Kind.TEXT, Kind.INTEGER, Kind.BOOLEAN, Kind.DATE}
"""Kinds that have groups; numbers with fractions are put into bins first."""

TRUTHS = Keys((0, 1))

MOST_PERIODS = 50_000
"""Periods of one key, such as the days of 137 years."""

MOST_BINS = 200
"""Bins of one key; each is a comparison that every row goes through."""


def bound_key(key: GroupKey, schema: Schema) -> BoundedKey:
    """The groups that ``key`` makes: public where the owner or the question names them."""
    match key.expression:
        case Field(name):
            column = schema[name]
            if column.kind not in GROUPED:
                raise InvalidValue(
                    f"Groups by {name!r}, a {column.kind.value} column, would hold one value "
                    "each; use bins, as in FLOOR(x / 10) * 10, or a CASE that names ranges."
                )
            keys = TRUTHS if column.kind is Kind.BOOLEAN else column.keys
            return ColumnKey(key.name, column.name, column.kind, keys)
        case Case(whens, otherwise):
            named = tuple((condition(when, schema), _named(then)) for when, then in whens)
            rest = None if otherwise == Constant(None) else _named(otherwise)
            values = [value for _, value in named] + ([] if rest is None else [rest])
            return CaseKey(key.name, named, rest, Keys(tuple(dict.fromkeys(values))))
        case Bin(part, width):
            return bound_key(GroupKey(key.name, _bins(part, width, schema)), schema)
        case DatePart():
            return bound_key(GroupKey(key.name, Bin(key.expression, 1)), schema)
        case Period(span, day):
            column = day_column(day, schema)
            return PeriodKey(key.name, clamped_days(column), span, _periods(span, column))
    raise InvalidValue(
        "Groups are made by a column, by bins of a number, as in FLOOR(x / 10) * 10, by dates, "
        "as in MONTH(day) or DATE_TRUNC('month', day), or by a CASE whose values are written "
        "out."
    )


def _periods(span: Span, column: Column) -> Keys | None:
    """The periods that the bounds of days reach; nobody knows them where there are none."""
    if column.bounds is None:
        return None
    first, last = day_of(column.grid().lowest), day_of(column.grid().highest)
    if (last - first).days > MOST_PERIODS * span.longest:
        raise InvalidValue(
            f"So many {span.name.lower()} within the bounds of {column.name!r} are more than "
            f"{MOST_PERIODS}; ask for longer periods."
        )
    return Keys(tuple(start.isoformat() for start in span.starts(first, last)))


def _bins(part: Expression, width: int, schema: Schema) -> Case:
    """The bins that the bounds of a number reach; what lies beyond is in the first or last."""
    value = number(part, schema)
    first, last = (end * value.step // width for end in (value.low, value.high))
    if last - first >= MOST_BINS:
        raise InvalidValue(
            f"Bins {width} wide are {last - first + 1} within the bounds, and {MOST_BINS} are "
            "the most; make them wider."
        )
    if (last - first + 1) * size(part) > LARGEST_QUESTION:
        raise InvalidValue("So many bins of a number that is so much to compute are too many.")
    starts = [place * width for place in range(first, last + 1)]
    below = [
        (Compare(Comparison.LESS, part, Constant(start + width)), Constant(start))
        for start in starts[:-1]
    ]
    # a comparison with NULL is not true, so that NULL has no bin
    rest = Compare(Comparison.AT_LEAST, part, Constant(starts[-1]))
    return Case((*below, (rest, Constant(starts[-1]))), Constant(None))


def _named(expression: Expression) -> Key:
    match expression:
        case Constant(bool()):
            pass
        case Constant(str() | int() as value):
            return value
        case Constant(Fraction() as value) if value.denominator == 1:
            return int(value)
    raise InvalidValue("A group is named by text or by a whole number, written out.")
