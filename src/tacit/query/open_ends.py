"""Intervals that hold what was asked: open where limits leave out an unknown amount.

The noise of an answer gives an interval of the rows that count. This module turns it into an
interval of all rows, by public facts: an end stays where nothing can be missing beyond it, and
is open otherwise. `coverage` says so in sentences, which are printed with every answer.
Everything here is post-processing, so that a declaration can close an interval of an answer
that was released before. `leave_empty` applies an owner's rule that small cells are not shown.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from tacit.core import ClosedInterval, Interval, Release, ReleasedColumn
from tacit.numeric import plain
from tacit.plan import (
    Bound,
    ColumnKey,
    Cut,
    ExtremeReading,
    MeanReading,
    QuantileReading,
    Reading,
    Slack,
    cells_of,
    key_sizes,
)
from tacit.query.intervals import CONFIDENCE
from tacit.query.quote import Quote
from tacit.query.selected_count import selected_count_interval

MEASURED = Fraction(1, 100)
"""Probability that a profile is wrong, by which an interval that uses it is less certain."""


def open_column(column: ReleasedColumn, reading: Reading, slack: Slack) -> ReleasedColumn:
    """Return a column of a measure whose intervals are open where ``slack`` says so.

    The intervals that cover the noise alone are kept in ``counted`` if they differ.
    """
    if column.confidence is None:
        return column  # dates have no intervals
    noise = column.counted or column.intervals
    rows = column.rows or (0,) * len(noise)
    found = tuple(
        open_interval(around, reading, slack, least)
        for around, least in zip(noise, rows, strict=True)
    )
    return replace(
        column,
        intervals=found,
        counted=() if found == noise else noise,
        confidence=CONFIDENCE - MEASURED if slack.measured else CONFIDENCE,
        all_but=slack.all_but,
    )


def open_interval(
    around: Interval | None, reading: Reading, slack: Slack, rows: int = 0
) -> Interval | None:
    """Return the interval ``around`` a value with the ends that hold what was asked.

    ``rows`` is the least number of rows of a mean. A mean of n rows and of m further ones is
    at most the share m / (n + m) of the way from the mean of the n rows to a bound.

    Example:
        >>> from fractions import Fraction
        >>> from tacit.plan import TotalReading
        >>> ends = Fraction(19631), Fraction(20053)
        >>> open_interval(ends, TotalReading(0, Fraction(1)), Slack(high=False))
        (Fraction(19631, 1), None)
    """
    if around is None:
        return None
    low, high = around if slack.low else (None, around[1])
    high = high if slack.high else None
    low = None if low is None else low - slack.below
    high = None if high is None else high + slack.above
    if slack.missing and isinstance(reading, MeanReading):
        share = Fraction(slack.missing, rows + slack.missing)
        far = reading.low - reading.rounding, reading.high + reading.rounding
        low = None if low is None else min(low, low + share * (far[0] - low))
        high = None if high is None else max(high, high + share * (far[1] - high))
    if slack.clamped and isinstance(reading, QuantileReading | ExtremeReading):
        first, last = _range(reading)
        low = None if low is None or low <= first else low
        high = None if high is None or high >= last else high
    return None if low is None and high is None else (low, high)


def _range(reading: QuantileReading | ExtremeReading) -> ClosedInterval:
    cells = reading.cells
    return cells.low * cells.step, cells.high * cells.step


def _number(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _all_but(people: int) -> str:
    return f"all but {people} people" if people != 1 else "all but 1 person"


def refresh(release: Release, quote: Quote) -> Release:
    """Return a stored release with the intervals that today's declarations give."""
    plan, bound = quote.question.plan, quote.bound
    places = {measure.name: number for number, measure in enumerate(plan.measures)}
    columns = tuple(
        open_measure(bound, places[column.name], column) if column.name in places else column
        for column in release.columns
    )
    return replace(
        release, columns=columns, coverage=coverage(bound, quote.population.unit.name)
    )


def open_measure(bound: Bound, number: int, column: ReleasedColumn) -> ReleasedColumn:
    """Return the column of a measure with the ends that hold, in each table of an answer."""
    reading = bound.readings[number]
    if not bound.tables:
        return open_column(column, reading, bound.slacks[number])
    sizes, start, parts = key_sizes(bound.plan), 0, []
    for table in bound.tables:
        end = start + cells_of(sizes, table.kept)
        part = _slice_column(column, slice(start, end))
        parts.append(open_column(part, reading, table.slacks[number]))
        start = end
    return join_columns(parts)


def _slice_column(column: ReleasedColumn, rows: slice) -> ReleasedColumn:
    return replace(
        column,
        values=column.values[rows],
        intervals=column.intervals[rows],
        counted=column.counted[rows],
        rows=column.rows[rows],
    )


def join_columns(parts: Sequence[ReleasedColumn]) -> ReleasedColumn:
    """Return one column from its parts in several tables; it is as sure as the least of them.

    Example:
        >>> north, all_of_it = (
        ...     ReleasedColumn("n", (Fraction(40),)),
        ...     ReleasedColumn("n", (None,)),
        ... )
        >>> join_columns([north, all_of_it]).values
        (Fraction(40, 1), None)
    """
    # an interval that is the same for the rows that count is not stored twice
    counted = [part.counted or part.intervals for part in parts]
    sure = [part.confidence for part in parts if part.confidence is not None]
    few = [part.all_but for part in parts if part.all_but is not None]
    return ReleasedColumn(
        parts[0].name,
        tuple(value for part in parts for value in part.values),
        tuple(around for part in parts for around in part.intervals),
        min(sure, default=None),
        tuple(around for each in counted for around in each)
        if any(part.counted for part in parts)
        else (),
        max(few, default=None),
        tuple(least for part in parts for least in part.rows),
    )


def _sentences_on_cut(cut: Cut, unit: str, slacks: tuple[Slack, ...]) -> list[str]:
    """Return sentences about the units of which rows are missing, by a profile."""
    people, has = _number(cut.units, unit), "has" if cut.units == 1 else "have"
    rows = _number(cut.limit, "row")
    more = f"at most {people} {has} more than {rows} of {cut.table}"
    said = [
        f"With probability 99%, {more}.",
        "Intervals that use this hold with 94%: 95% for the noise, less 1% for the count.",
    ]
    if cut.missing:
        missing = f"{_number(cut.missing, 'row')} of theirs"
        missing += " is" if cut.missing == 1 else " are"
        said.append(
            f"At most {missing} missing in a group, because {cut.fact}; "
            "intervals of counts, sums and means include them."
        )
    if any(slack.all_but is not None for slack in slacks):
        said.append(
            f"Their further rows, of which nobody knows how many there are, are not in "
            f"intervals headed '{_all_but(cut.units)}'. To include them, the owner can "
            f"declare most_rows of {cut.table}, or a tail."
        )
    return said


def _to_raise(bound: Bound) -> str:
    """Return the limits that cut rows although it is declared how many there can be."""
    plan, found = bound.plan, bound.left_out
    names = []
    if found.most is not None and found.most > plan.max_rows:
        names.append(f"max_rows to {found.most}")
    if found.groups is not None and found.groups > plan.max_groups:
        names.append(f"max_groups to {found.groups}")
    if plan.max_squares is not None and found.most is not None:
        names.append(f"max_length to {found.most}")
    return " and ".join(names) or "the limits to what is declared"


def _sentences_on_tables(bound: Bound, unit: str) -> list[str]:
    """Return sentences about the totals of a question with several tables."""
    if not bound.tables:
        return []
    plan, said = bound.plan, []
    said.append("Each total is exactly the sum of its parts, and need not be an integer.")
    if bound.left_out.units:
        said.append(
            f"Totals are cut more than if they are asked for alone: they leave out the rows of "
            f"a {unit} beyond {_number(plan.max_groups, 'group')} of all keys together."
        )
    unlisted = dict.fromkeys(name for each in bound.tables for name in each.unlisted)
    if unlisted:
        said.append(
            f"A total over {' or '.join(unlisted)} has only the rows whose value of it is "
            "listed; if it is asked for alone, it has all rows. To include them, the owner can "
            "declare the keys complete, or a CASE with ELSE can name the others."
        )
    return said


def coverage(bound: Bound, unit: str) -> tuple[str, ...]:
    """Return sentences about what the intervals of an answer cover; ``unit`` is a person.

    Guarantee: they are a function of the bounded plan, which is public; no data is read.
    """
    plan, found = bound.plan, bound.left_out
    said = []
    if found.known:
        facts = ", and ".join(found.known)
        said.append(f"By declaration, {facts}.")
    if found.below is not None:
        said.append(
            f"The subquery counts at most {_number(found.below, 'row')} of each {unit}."
        )
    if found.rows:
        limit = f"At most {_number(plan.max_rows, 'row')} of each {unit} count"
        if plan.keys:
            limit += f" in a group, and at most {_number(plan.max_groups, 'group')}"
        if plan.max_rows_in_all is not None:
            limit += f", and at most {_number(plan.max_rows_in_all, 'row')} in all"
        if plan.max_squares is not None:
            limit += ", and by group they are a vector of at most max_length"
        said.append(f"{limit}; there can be more.")
    if any(slack.clamped for slack in bound.slacks):
        said.append("Some numbers are clamped to bounds that are not public.")
    if found.rounded:
        said.append("A condition or a group key uses a number that is rounded.")
    for total in dict.fromkeys(slack.total for slack in bound.slacks):
        if total is not None:
            people, has = _number(total.people, unit), "has" if total.people == 1 else "have"
            said.append(
                f"Totals are clamped. With probability 99%, at most {people} {has} a "
                f"total above {plain(total.amount)}; the rest of it is not in intervals "
                f"headed '{_all_but(total.people)}'."
            )
    if found.cut is not None and any(slack.measured for slack in bound.slacks):
        said += _sentences_on_cut(found.cut, unit, bound.slacks)
    if any(not (slack.low and slack.high) for slack in bound.slacks):
        said.append("Intervals are open where this can move the exact value.")
        if found.unknown and found.cut is None:
            tables = " and ".join(found.unknown)
            said.append(
                f"To close them, the owner can declare most_rows of {tables}, or measure how "
                f"many {unit}s the limits cut: tacit limits {found.unknown[0]} --estimate."
            )
        elif found.known and (found.rows or found.below is not None):
            said.append(f"To close them, the owner can raise {_to_raise(bound)}.")
    if bound.min_people:
        least = _number(bound.min_people, unit)
        said.append(
            f"A cell is empty unless at least {least} are in it, by a noisy count and with "
            "probability 95%. All people of a cell count, also those whose values are NULL. "
            "Cells that are shown can reveal about how large empty ones are."
        )
    said += _sentences_on_tables(bound, unit)
    listed = any(
        isinstance(key, ColumnKey) and key.keys is not None and key.column not in bound.complete
        for key in plan.keys
    )
    other = ", or that have a key which is not listed," if listed else ""
    said.append(f"Rows that belong to no {unit}{other} are left out.")
    return tuple(said)


# Empty cells ---------------------------------------------------------------------------------
#
# Differential privacy protects every person, in small cells too. Many offices have a rule in
# addition: a number about fewer than ten people is not published. The number of people in a
# cell is private itself, so that the rule is applied to a noisy count of people, which is part
# of the price. Complementary suppression is not done: a total minus the cells that are shown is
# an estimate of the others. Their noise protects people, as in every answer.

Value = TypeVar("Value")


def cells_shown(quote: Quote, released: list[list[int]]) -> tuple[bool, ...] | None:
    """Return for each group whether it is shown; None if all are.

    Guarantee: this is post-processing of the released counts. A group of fewer people than the
    owner requires is shown with a probability of at most 5%.
    """
    place = quote.bound.people
    if place is None:
        return None
    mechanism = quote.tallies[place].mechanism
    kept, least = selected_count_interval(mechanism, CONFIDENCE), quote.bound.min_people
    if kept is not None:
        return tuple(kept.interval(units)[0] >= least for units in released[place])
    # the error is on either side with half of the probability
    reach = mechanism.error(1 - 2 * (1 - CONFIDENCE))
    return tuple(units - reach >= least for units in released[place])


def leave_empty(column: ReleasedColumn, shown: tuple[bool, ...] | None) -> ReleasedColumn:
    """Return ``column`` without the values and intervals of groups that are not shown.

    Example:
        >>> from fractions import Fraction
        >>> column = ReleasedColumn("n", (Fraction(40), Fraction(3)))
        >>> leave_empty(column, (True, False)).values
        (Fraction(40, 1), None)
    """
    if shown is None:
        return column
    return replace(
        column,
        values=_only(column.values, shown),
        intervals=_only(column.intervals, shown),
        counted=_only(column.counted, shown),
        rows=tuple(n if show else 0 for n, show in zip(column.rows, shown, strict=False)),
    )


def drop_hidden(column: ReleasedColumn, shown: tuple[bool, ...]) -> ReleasedColumn:
    """Return ``column`` without the rows of groups that are not shown.

    Example:
        >>> drop_hidden(ReleasedColumn("ward", ("north", "south")), (True, False)).values
        ('north',)
    """

    def keep(values: tuple[Value, ...]) -> tuple[Value, ...]:
        pairs = zip(values, shown, strict=False)
        return tuple(value for value, show in pairs if show)

    return replace(
        column,
        values=keep(column.values),
        intervals=keep(column.intervals),
        counted=keep(column.counted),
        rows=keep(column.rows),
    )


def _only(values: tuple[Value, ...], shown: tuple[bool, ...]) -> tuple[Value | None, ...]:
    """Return the values of groups that are shown, and None for the others."""
    return tuple(value if show else None for value, show in zip(values, shown, strict=False))
