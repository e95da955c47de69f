"""Comparisons of periods with days: DATE_TRUNC('month', day) >= DATE '2026-02-01' in WHERE.

A period is compared by its first day. The first day is before a constant if and only if the day
itself is before the first period that starts at the constant or later. So a comparison of
periods becomes one of days, which engines compare without a computation. NULL stays NULL.
"""

from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Any

from tacit.errors import InvalidValue
from tacit.plan import PARTS
from tacit.plan import expression as expr
from tacit.plan.expression import Comparison
from tacit.sql.expression import day_constant

LATEST = date(9990, 1, 1)
"""Constants beyond it are refused, so that the period after theirs has a first day."""

TURNED = {
    Comparison.LESS: Comparison.MORE,
    Comparison.AT_MOST: Comparison.AT_LEAST,
    Comparison.MORE: Comparison.LESS,
    Comparison.AT_LEAST: Comparison.AT_MOST,
}
"""The comparison with its sides exchanged; the others stay as they are."""


def compare_days(node: Any) -> Any:
    """Return ``node``, a part of a plan, with comparisons of periods as comparisons of days.

    Example:
        ``DATE_TRUNC('year', day) > DATE '2026-05-01'`` becomes ``day >= DATE '2027-01-01'``,
        the first day of the first year that starts after that constant.
    """
    if isinstance(node, tuple):
        return tuple(compare_days(part) for part in node)
    names = PARTS[type(node)]
    if names is None:
        return node
    made = type(node)(*[compare_days(getattr(node, name)) for name in names])
    match made:
        case expr.Compare(comparison, expr.Period() as period, expr.Constant(value)) if (
            _is_long(period)
        ):
            return _comparison_of(comparison, period, value)
        case expr.Compare(comparison, expr.Constant(value), expr.Period() as period) if (
            _is_long(period)
        ):
            return _comparison_of(TURNED.get(comparison, comparison), period, value)
        case expr.OneOf(expr.Period() as period, values) if _is_long(period):
            equal = partial(_comparison_of, Comparison.EQUAL, period)
            return expr.Or(tuple(map(equal, values))) if len(values) > 1 else equal(values[0])
    return made


def _is_long(period: expr.Period) -> bool:
    """Return whether a period has several days. The day of a timestamp is compared as a day."""
    return period.span is not expr.Span.DAYS


def _comparison_of(
    comparison: Comparison, period: expr.Period, value: object
) -> expr.Expression:
    day = day_constant(value) if isinstance(value, str) else value
    at_start = True
    if isinstance(value, datetime):  # a period starts at midnight
        day, at_start = value.date(), value.time() == time.min
    if not isinstance(day, date) or day > LATEST:
        raise InvalidValue(
            "DATE_TRUNC can be compared with a constant day before the year 9990, as in "
            "DATE_TRUNC('month', day) = DATE '2026-01-01'."
        )
    start = period.span.start(day)
    after = period.span.start(start + timedelta(days=period.span.longest))
    # the first period that starts at the constant or later
    first = start if start == day and at_start else after

    def is_day(which: Comparison, other: date) -> expr.Expression:
        return expr.Compare(which, period.day, expr.Constant(other))

    match comparison:
        case Comparison.LESS:
            return is_day(Comparison.LESS, first)
        case Comparison.AT_MOST:
            return is_day(Comparison.LESS, after)
        case Comparison.MORE:
            return is_day(Comparison.AT_LEAST, after)
        case Comparison.AT_LEAST:
            return is_day(Comparison.AT_LEAST, first)
        case Comparison.EQUAL:  # where no period starts at the constant, nothing is equal
            return expr.And(
                (is_day(Comparison.AT_LEAST, first), is_day(Comparison.LESS, after))
            )
        case Comparison.UNEQUAL:
            return expr.Or((is_day(Comparison.LESS, first), is_day(Comparison.AT_LEAST, after)))
