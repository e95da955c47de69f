"""Post-processing of a release: sums of groups, output expressions, HAVING, ORDER BY, LIMIT.

Only released values are used, so that it costs no privacy budget. Interval arithmetic gives
each computed value an interval: `IntervalValue` is a value with its interval and the
probability that the interval is wrong. `sum_groups` answers a question from a stored answer
with one more group key.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import inf, sqrt
from operator import add, mul, sub
from statistics import NormalDist
from typing import Any

from tacit.core import Interval, Key, Release, ReleasedColumn
from tacit.engines import public_groups
from tacit.errors import InvalidValue
from tacit.mechanisms import Gaussian, Mechanism
from tacit.plan import (
    Canonical,
    ColumnKey,
    DistinctTally,
    Post,
    Slack,
    TotalReading,
    UnitTally,
    every,
    group_count,
    subject_hash,
    text,
    with_key,
)
from tacit.plan import expression as expr
from tacit.query.intervals import CONFIDENCE, MOST_ROWS
from tacit.query.open_ends import coverage, open_column
from tacit.query.quote import Quote

Plain = Fraction | Key | bool | None
"""The type of a computed value."""


@dataclass(frozen=True, slots=True)
class IntervalValue:
    """A value, its interval if it has noise, and an upper bound on the interval's error.

    ``doubt`` is an upper bound on the probability that the interval does not contain the exact
    value. A column that is not computed keeps its interval of the rows that ``counted``. An
    interval that leaves out rows of a few units has their number in ``all_but``; it is the same
    few units in all columns.

    Guarantee: if the intervals of two values contain their exact values, then so does the
    interval of a value that is computed from both. Doubts add up (union bound).

    Example:
        >>> near = IntervalValue(Fraction(10), (Fraction(8), Fraction(12)), Fraction(1, 20))
        >>> (near * near).interval, (near * near).doubt
        ((Fraction(64, 1), Fraction(144, 1)), Fraction(1, 10))
    """

    value: Plain
    interval: Interval | None = None
    doubt: Fraction = Fraction(0)
    counted: Interval | None = None
    all_but: int | None = None

    @property
    def number(self) -> Fraction:
        """The value, which must be a number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | Fraction):
            raise InvalidValue(
                "Arithmetic with released values needs numbers, and one of these values is not "
                "a number. Compute with counts, sums and means only."
            )
        return Fraction(self.value)

    def __add__(self, other: "IntervalValue") -> "IntervalValue":
        return self._with(other, expr.Operation.ADD)

    def __sub__(self, other: "IntervalValue") -> "IntervalValue":
        return self._with(other, expr.Operation.SUBTRACT)

    def __mul__(self, other: "IntervalValue") -> "IntervalValue":
        return self._with(other, expr.Operation.MULTIPLY)

    def __truediv__(self, other: "IntervalValue") -> "IntervalValue":
        """Return the quotient: NULL if the divisor is 0, without interval if it may be 0."""
        if self.value is None or other.value is None or other.number == 0:
            return IntervalValue(None)
        low, high = other.ends
        if low <= 0 <= high:  # as of a noisy number without an interval, which can be any
            return IntervalValue(self.number / other.number, None, self.doubt + other.doubt)
        inverse = IntervalValue(
            1 / other.number,
            (_inverse(high), _inverse(low)),
            other.doubt,
            all_but=other.all_but,
        )
        return self * (inverse if other.interval else IntervalValue(1 / other.number))

    @property
    def ends(self) -> tuple["End", "End"]:
        """The ends of the interval, of which an open one is infinite.

        Both are infinite for a noisy number without an interval, and are the value for a number
        without noise.
        """
        nothing = (None, None) if self.doubt else (self.number, self.number)
        low, high = self.interval or nothing
        return -inf if low is None else low, inf if high is None else high

    def _with(self, other: "IntervalValue", operation: expr.Operation) -> "IntervalValue":
        if self.value is None or other.value is None:
            return IntervalValue(None)
        value = _apply(operation, self.number, other.number)
        doubt = self.doubt + other.doubt
        if not doubt:
            return IntervalValue(value)
        around = _combine(operation, self.ends, other.ends)
        few = max((each for each in (self.all_but, other.all_but) if each), default=None)
        return IntervalValue(value, around, doubt, all_but=few)


End = Fraction | float
"""An end of an interval: an exact number, or plus or minus infinity."""


def _combine(
    operation: expr.Operation, one: tuple[End, End], other: tuple[End, End]
) -> Interval | None:
    """Return the interval of all results; None if it is open on both sides."""
    if operation is expr.Operation.MULTIPLY:
        ends = [_product(left, right) for left, right in product(one, other)]
    elif operation is expr.Operation.ADD:
        ends = [one[0] + other[0], one[1] + other[1]]
    else:
        ends = [one[0] - other[1], one[1] - other[0]]
    low, high = (None if isinstance(end, float) else end for end in (min(ends), max(ends)))
    return None if low is None and high is None else (low, high)


def _product(left: End, right: End) -> End:
    """Return a product in which 0 times infinity is 0, as for ends of intervals."""
    return Fraction(0) if not left or not right else left * right


def _inverse(end: End) -> Fraction:
    return Fraction(0) if isinstance(end, float) else 1 / end


def _apply(operation: expr.Operation, left: Fraction, right: Fraction) -> Fraction:
    match operation:
        case expr.Operation.ADD:
            return left + right
        case expr.Operation.SUBTRACT:
            return left - right
        case expr.Operation.MULTIPLY:
            return left * right


# Evaluation over a release -------------------------------------------------------------------

Row = Mapping[str, IntervalValue]
"""One row of a release, by the names of its columns."""

OPERATIONS: dict[expr.Operation, Callable[[IntervalValue, IntervalValue], IntervalValue]] = {
    expr.Operation.ADD: add,
    expr.Operation.SUBTRACT: sub,
    expr.Operation.MULTIPLY: mul,
}


def post_process(release: Release, post: Post) -> Release:
    """Return ``release`` after HAVING, ORDER BY, LIMIT and the output expressions.

    Guarantee: only released values are used, so that nothing is charged. The confidence of a
    computed column takes the intervals of all its parts into account.
    """
    rows = [_row(release, place) for place in range(len(release.columns[0].values))]
    if post.having is not None:
        rows = [row for row in rows if estimate(post.having, row).value is True]
    for order in reversed(post.order):
        places = [_sortable(estimate(order.expression, row)) for row in rows]
        ordered = sorted(zip(places, rows, strict=True), key=_place, reverse=order.descending)
        rows = [row for _, row in ordered]
    columns = tuple(
        _column(output.name, [estimate(output.expression, row) for row in rows[: post.limit]])
        for output in post.outputs
    )
    return replace(release, columns=columns)


def estimate(expression: expr.Expression, row: Row) -> IntervalValue:
    """Return the value of ``expression`` for one row of a release."""
    match expression:
        case expr.Field(name):
            return row[name]
        case expr.Constant(bool() | str() | None as value):
            return IntervalValue(value)
        case expr.Constant(int() | Fraction() as value):
            return IntervalValue(Fraction(value))
        case expr.Arithmetic(operation, left, right):
            return OPERATIONS[operation](estimate(left, row), estimate(right, row))
        case expr.Divide(left, right):
            return estimate(left, row) / estimate(right, row)
        case expr.Case(whens, otherwise):
            chosen = (then for when, then in whens if estimate(when, row).value is True)
            found = estimate(next(chosen, otherwise), row)
            fields = every(tuple(when for when, _ in whens), expr.Field)
            doubt = sum(row[name].doubt for name in {field.name for field in fields})
            if not doubt or not isinstance(found.value, int | Fraction):
                return found
            # noise could have chosen another branch, so that nothing is known of the number
            return IntervalValue(found.value, None, found.doubt + doubt)
        case (
            expr.Compare() | expr.OneOf() | expr.IsNull() | expr.And() | expr.Or() | expr.Not()
        ):
            return IntervalValue(_truth(expression, row))
    raise InvalidValue(
        "This expression cannot be computed from released values. Use arithmetic, comparisons "
        "and CASE over columns of the answer."
    )


def _truth(condition: expr.Expression, row: Row) -> bool | None:
    """Return whether a condition is true for released values; None is unknown."""
    match condition:
        case expr.Compare(comparison, left, right):
            one, other = estimate(left, row).value, estimate(right, row).value
            if one is None or other is None:
                return None
            if isinstance(one, str) is not isinstance(other, str):
                raise InvalidValue(
                    "A text cannot be compared with a number. Compare it with a text in quotes."
                )
            return comparison.holds(one, other)
        case expr.OneOf(part, values):
            value = estimate(part, row).value
            return None if value is None else value in values
        case expr.IsNull(part):
            return estimate(part, row).value is None
        case expr.And(parts):
            truths = [estimate(part, row).value for part in parts]
            return False if False in truths else None if None in truths else True
        case expr.Or(parts):
            truths = [estimate(part, row).value for part in parts]
            return True if True in truths else None if None in truths else False
        case expr.Not(part):
            value = estimate(part, row).value
            return None if value is None else value is False
    raise InvalidValue("A condition is expected here, such as COUNT(*) > 100.")


def _row(release: Release, place: int) -> dict[str, IntervalValue]:
    row = {}
    for column in release.columns:
        noisy = column.confidence is not None
        row[column.name] = IntervalValue(
            column.values[place],
            column.intervals[place] if noisy else None,
            1 - column.confidence if column.confidence is not None else Fraction(0),
            column.counted[place] if column.counted else None,
            column.all_but,
        )
    return row


LARGEST_OUTPUT = 10**300
"""Largest size of an output. Every larger number, which no float holds, is NULL."""


def _column(name: str, found: list[IntervalValue]) -> ReleasedColumn:
    found = [
        each if _fits(each) else replace(each, value=None, interval=None) for each in found
    ]
    values = tuple(_output_value(each) for each in found)
    doubt = max((each.doubt for each in found), default=Fraction(0))
    if not 0 < doubt < 1:  # at 1, an interval of many noisy parts would claim nothing
        return ReleasedColumn(name, values)
    counted = tuple(each.counted for each in found)
    return ReleasedColumn(
        name,
        values,
        tuple(each.interval for each in found),
        1 - doubt,
        counted if any(counted) else (),
        max((each.all_but for each in found if each.all_but), default=None),
    )


def _fits(each: IntervalValue) -> bool:
    """Return whether a value and the ends of its interval are numbers of a float's size."""
    numbers = (each.value, *(each.interval or ()))
    return all(not isinstance(n, Fraction) or abs(n) <= LARGEST_OUTPUT for n in numbers)


def _output_value(each: IntervalValue) -> Any:
    """Return a value as a column contains it: a Boolean becomes 0 or 1."""
    return int(each.value) if isinstance(each.value, bool) else each.value


def _sortable(each: IntervalValue) -> tuple[bool, Any]:
    return each.value is None, each.value if each.value is not None else 0


def _place(pair: tuple[tuple[bool, Any], Row]) -> tuple[bool, Any]:
    return pair[0]


# Sums of groups ------------------------------------------------------------------------------
#
# The groups of an answer by city and ward add up to the groups by city, if every row has a
# listed ward. Noise adds up too: the sum of g Gaussian noises has g times the variance. So a
# question with fewer keys needs no new noise where a stored answer is exact enough.
#
# The limits of the finer question decide which rows count in the sum. Of a person with rows in
# more groups than max_groups, the finer answer leaves out whole groups, while the coarser
# question would count all rows. So the sum has the open ends of the finer question, and is used
# only where these are no worse than the open ends of the coarser one.


@dataclass(frozen=True, slots=True)
class FinerQuestion:
    """A question with one more group key, ``column``, whose groups add up to those asked."""

    column: str
    question: Canonical
    subject: bytes


def finer_questions(quote: Quote) -> Iterator[FinerQuestion]:
    """Yield the questions whose groups add up to the groups of ``quote``.

    Counts of rows and sums add up. Units and distinct values do not, because they can be in
    several groups. Cells that an owner's rule leaves empty do not add up either.
    """
    bound = quote.bound
    plan = bound.plan
    if (
        group_count(plan) is None
        or bound.tables
        or bound.min_people
        or not all(
            isinstance(reading, TotalReading)
            and not isinstance(plan.tallies[reading.tally], UnitTally | DistinctTally)
            for reading in bound.readings
        )
    ):
        return
    grouped = {key.column for key in plan.keys if isinstance(key, ColumnKey)}
    for column in bound.complete:
        if column not in grouped:
            finer = with_key(quote.question, column)
            yield FinerQuestion(column, finer, subject_hash(finer, plan.source))


def sum_groups(release: Release, finer: Quote, column: str, quote: Quote) -> Release | None:
    """Return the answer to ``quote`` as sums of ``release``, the answer to ``finer``.

    ``finer`` has one more group key, ``column``. The result is None if a sum would have a
    larger margin of error than an answer of ``quote``, or leave out more rows.

    Guarantee: only released values are used, so that nothing is charged. The intervals hold
    with the confidence of all intervals, and are open where those of ``finer`` are.
    """
    plan, groups = quote.question.plan, public_groups(quote.bound.plan)
    released = {each.name: each for each in release.columns}
    names = {text(key.expression): key.name for key in finer.question.plan.keys}
    shared = [released[names[text(key.expression)]].values for key in plan.keys]
    places = defaultdict[tuple[Any, ...], list[int]](list)
    for place in range(len(release.columns[0].values)):
        places[tuple(values[place] for values in shared)].append(place)
    if groups is None or set(places) != set(groups):
        return None
    many = len(release.columns[0].values) // len(groups)
    columns = [
        ReleasedColumn(key.name, tuple(group[number] for group in groups))
        for number, key in enumerate(plan.keys)
    ]
    for number, measure in enumerate(plan.measures):
        reading, slack = finer.bound.readings[number], _times(finer.bound.slacks[number], many)
        one, margin = _margin(number, finer, 1), _margin(number, finer, many)
        found = released[measure.name]
        noise = found.counted or found.intervals
        values = [each for each in found.values if isinstance(each, int | Fraction)]
        if (
            margin > _margin(number, quote, 1)
            or not _is_within(slack, quote.bound.slacks[number])
            # the stored answer must have the noise that the quote says
            or any(
                around != (value - one, value + one)
                for value, around in zip(values, noise, strict=True)
            )
        ):
            return None
        sums = [Fraction(sum(values[place] for place in places[group])) for group in groups]
        ends = tuple((value - margin, value + margin) for value in sums)
        total = ReleasedColumn(measure.name, tuple(sums), ends, CONFIDENCE)
        columns.append(open_column(total, reading, slack))
    said = f"The numbers are sums over {column} of an answer that was released before."
    unit = quote.population.unit.name
    return replace(
        release, columns=tuple(columns), coverage=(*coverage(finer.bound, unit), said)
    )


def _margin(number: int, quote: Quote, many: int) -> Fraction:
    """Return the margin of error of a sum of ``many`` values of a measure of ``quote``."""
    reading = quote.bound.readings[number]
    if not isinstance(reading, TotalReading):
        raise InvalidValue("Only counts and sums can be added up over groups.")
    steps = _error_of_sum(quote.tallies[reading.tally].mechanism, many)
    return steps * reading.step + MOST_ROWS * reading.rounding


def _error_of_sum(mechanism: Mechanism, many: int) -> Fraction:
    """Return the margin of error of a sum of ``many`` noisy integers, in steps.

    Gaussian noises add up to Gaussian noise of ``many`` times the variance; one step more is
    for the discrete distribution. Of other noises each is within its own margin, with an equal
    part of the probability of error.

    Example:
        >>> _error_of_sum(Gaussian(Fraction(100)), 1)
        Fraction(20, 1)
        >>> round(float(_error_of_sum(Gaussian(Fraction(100)), 4)), 1)
        40.2
    """
    if many == 1 or not isinstance(mechanism, Gaussian):
        return many * mechanism.error(1 - (1 - CONFIDENCE) / many)
    sure = NormalDist().inv_cdf(float(1 + CONFIDENCE) / 2)
    return Fraction(sure * sqrt(many * mechanism.variance) + 1)


def _times(slack: Slack, many: int) -> Slack:
    """Return the slack of a sum of ``many`` groups: rows can be missing in each of them."""
    return replace(slack, below=many * slack.below, above=many * slack.above)


def _is_within(slack: Slack, other: Slack) -> bool:
    """Return whether an interval with ``slack`` says at least as much as one with ``other``."""
    return (
        (slack.low or not other.low)
        and (slack.high or not other.high)
        and (not slack.measured or other.measured)
        and (slack.all_but or 0) <= (other.all_but or 0)
        and slack.below <= other.below
        and slack.above <= other.above
    )
