"""Stored answers whose groups add up to those of a question with fewer group keys.

The groups of an answer by city and ward add up to the groups by city, if every row has a
listed ward. Noise adds up too: the sum of g Gaussian noises has g times the variance. So a
question with fewer keys needs no new noise where a stored answer is exact enough.

The limits of the finer question decide which rows count in the sum. Of a person with rows in
more groups than max_groups, the finer answer leaves out whole groups, while the coarser
question would count all rows. So the sum has the open ends of the finer question, and is used
only where these are no worse than the open ends of the coarser one.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tacit.core import Release, ReleasedColumn
from tacit.engines import public_groups
from tacit.errors import InvalidValue
from tacit.plan import (
    Canonical,
    ColumnKey,
    DistinctTally,
    Slack,
    TotalReading,
    UnitTally,
    group_count,
    subject_hash,
    text,
    with_key,
)
from tacit.query.intervals import CONFIDENCE, MOST_ROWS
from tacit.query.open_ends import coverage, open_column
from tacit.query.quote import Quote
from tacit.query.window_values import error_of_sum


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
    steps = error_of_sum(quote.tallies[reading.tally].mechanism, many)
    return steps * reading.step + MOST_ROWS * reading.rounding


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
