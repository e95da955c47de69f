"""Post-processing of a release: sums of groups, output expressions, HAVING, ORDER BY, LIMIT.

Only released values are used, so that it costs no privacy budget. Interval arithmetic gives
each computed value an interval. `sum_groups` answers a question from a stored answer
with one more group key.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from operator import add, mul, sub
from typing import Any

from tacit.core import Release, ReleasedColumn
from tacit.errors import InvalidValue
from tacit.plan import Post, TotalReading, every
from tacit.plan import expression as expr
from tacit.query.interval_value import IntervalValue, apply_function
from tacit.query.intervals import CONFIDENCE, MOST_ROWS
from tacit.query.quote import Quote
from tacit.query.window_values import CellNoise, Noises, WindowRows, sort_places

# Evaluation over a release -------------------------------------------------------------------

Row = Mapping[object, IntervalValue]
"""One row of a release, by the names of its columns; windows are added to it."""

OPERATIONS: dict[expr.Operation, Callable[[IntervalValue, IntervalValue], IntervalValue]] = {
    expr.Operation.ADD: add,
    expr.Operation.SUBTRACT: sub,
    expr.Operation.MULTIPLY: mul,
}


def post_process(release: Release, post: Post, quote: Quote | None = None) -> Release:
    """Return ``release`` after HAVING, windows, ORDER BY, LIMIT and the output expressions.

    The noise that ``quote`` states gives shorter intervals of sums of several rows. It is used
    only where the intervals of the release show this noise.

    Guarantee: only released values are used, so that nothing is charged. The confidence of a
    computed column takes the intervals of all its parts into account.
    """
    rows = [_row(release, place) for place in range(len(release.columns[0].values))]
    noises = {} if quote is None else _noises(release, quote)
    found = _apply(post, StepRows(rows), noises)
    columns = tuple(
        _column(output.name, [row[output.name] for row in found.rows])
        for output in post.outputs
    )
    return replace(release, columns=columns)


@dataclass(frozen=True, slots=True)
class StepRows:
    """The rows of a step; ``chosen`` says whether noise has decided which rows there are."""

    rows: list[dict[object, IntervalValue]]
    chosen: bool = False


def _apply(post: Post, released: StepRows, noises: Noises) -> StepRows:
    """Return the rows that a step of post-processing outputs, by the names of its outputs."""
    found = _below(post, released, noises)
    rows, chosen = found.rows, found.chosen
    if post.having is not None:
        chosen = chosen or _is_noisy(post.having, rows)
        rows = [row for row in rows if estimate(post.having, row).value is True]
    asked = (tuple(output.expression for output in post.outputs), post.order)
    for window in dict.fromkeys(every(asked, expr.WindowValue)):
        results = _window_rows(window, rows, noises, chosen=chosen).results()
        noisy = _is_noisy(window, rows)
        for row, result in zip(rows, results, strict=True):
            row[window] = replace(result, noisy=noisy)
    keys = tuple(
        expr.SortKey(each.expression, each.descending, each.nulls_first) for each in post.order
    )
    values = [tuple(estimate(key.part, row).value for key in keys) for row in rows]
    rows = [rows[place] for place in sort_places([*range(len(rows))], values, keys)]
    if post.limit is not None:
        chosen = chosen or any(_is_noisy(key.part, rows) for key in keys)
        rows = rows[: post.limit]
    return StepRows([_outputs(post, row) for row in rows], chosen)


def _below(post: Post, released: StepRows, noises: Noises) -> StepRows:
    """Return the rows that a step reads, in new dictionaries."""
    if not post.below:
        return StepRows([dict(row) for row in released.rows], released.chosen)
    names = [output.name for output in post.below[0].outputs]
    rows: list[dict[object, IntervalValue]] = []
    chosen = released.chosen
    for step in post.below:
        part = _apply(step, released, noises)
        chosen = chosen or part.chosen
        own = [output.name for output in step.outputs]
        rows += [
            {name: row[each] for name, each in zip(names, own, strict=True)}
            for row in part.rows
        ]
    return StepRows(rows, chosen)


def _outputs(post: Post, row: Row) -> dict[object, IntervalValue]:
    return {
        output.name: replace(
            estimate(output.expression, row), noisy=_is_noisy(output.expression, [row])
        )
        for output in post.outputs
    }


def _is_noisy(part: object, rows: Sequence[Row]) -> bool:
    """Return whether noise can decide the value of an expression in one of the rows."""
    names = {field.name for field in every((part,), expr.Field)}
    windows = {*every((part,), expr.WindowValue)}
    return any(row[name].noisy for row in rows for name in {*names, *windows} if name in row)


def _window_rows(
    window: expr.WindowValue, rows: Sequence[Row], noises: Noises, *, chosen: bool
) -> WindowRows:
    part = expr.Constant(None) if window.part is None else window.part
    sort_keys = tuple(key.part for key in window.order)
    return WindowRows(
        window,
        [estimate(part, row) for row in rows],
        [tuple(estimate(each, row).value for each in window.partition) for row in rows],
        [tuple(estimate(each, row).value for each in sort_keys) for row in rows],
        noises,
        sure=not _is_noisy((window.partition, sort_keys), rows),
        chosen=chosen,
    )


def _noises(release: Release, quote: Quote) -> dict[str, CellNoise]:
    """Return the noise of measures whose released intervals show the noise of ``quote``.

    A stored answer that serves a question can have another noise than its quote.
    """
    found = {}
    for measure, reading in zip(
        quote.question.plan.measures, quote.bound.readings, strict=True
    ):
        if not isinstance(reading, TotalReading) or measure.name not in release:
            continue
        column = release[measure.name]
        noise = CellNoise(
            quote.tallies[reading.tally].mechanism,
            reading.step,
            MOST_ROWS * reading.rounding,
            max(1, len(column.values)),
        )
        margin = noise.of_sum(1)
        if all(
            around == (value - margin, value + margin)
            for value, around in zip(
                column.values, column.counted or column.intervals, strict=True
            )
            if isinstance(value, int | Fraction)
        ):
            found[measure.name] = noise
    return found


def estimate(expression: expr.Expression, row: Row) -> IntervalValue:
    """Return the value of ``expression`` for one row of a release."""
    match expression:
        case expr.Field(name):
            return row[name]
        case expr.WindowValue():
            return row[expression]
        case expr.Constant(bool() | str() | None as value):
            return IntervalValue(value)
        case expr.Constant(int() | Fraction() as value):
            return IntervalValue(Fraction(value))
        case expr.Constant(date() as value):
            return IntervalValue(value.isoformat())  # as days are released
        case expr.Arithmetic(operation, left, right):
            return OPERATIONS[operation](estimate(left, row), estimate(right, row))
        case expr.Divide(left, right):
            return estimate(left, row) / estimate(right, row)
        case expr.OfReleased(function, parts):
            return apply_function(function, [_estimate_part(part, row) for part in parts])
        case expr.Case(whens, otherwise):
            chosen = (then for when, then in whens if estimate(when, row).value is True)
            found = estimate(next(chosen, otherwise), row)
            doubt = _doubts(tuple(when for when, _ in whens), row)
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


def _estimate_part(part: expr.Expression, row: Row) -> IntervalValue:
    """Return the value of an argument; a NULL that noise can have made has its doubt."""
    found = estimate(part, row)
    if found.value is None and not found.doubt:
        return replace(found, doubt=_doubts(part, row))
    return found


def _doubts(part: object, row: Row) -> Fraction:
    """Return the doubts of all columns and windows in an expression, added up.

    A truth that a step below has decided by noisy numbers has no interval, but it is in doubt.
    """
    names = {field.name for field in every((part,), expr.Field)}
    found: set[object] = {*names, *every((part,), expr.WindowValue)}
    values = [row[name] for name in found if name in row]
    doubts = (each.doubt or (1 - CONFIDENCE) * each.noisy for each in values)
    return sum(doubts, Fraction(0))


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


def _row(release: Release, place: int) -> dict[object, IntervalValue]:
    row: dict[object, IntervalValue] = {}
    for column in release.columns:
        noisy = column.confidence is not None
        row[column.name] = IntervalValue(
            column.values[place],
            column.intervals[place] if noisy else None,
            1 - column.confidence if column.confidence is not None else Fraction(0),
            column.counted[place] if column.counted else None,
            column.all_but,
            noisy=noisy,
            cell=(column.name, place),
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
