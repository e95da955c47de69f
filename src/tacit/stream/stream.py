"""The declaration of a stream: a question, its periods, its window and its total loss.

The file also checks that the data of a period is complete before the period is released:
`check_over` compares the period with today's date, and `check_covered` with the epochs of the
tables and the dates of their prepared copies.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import sha256

from tacit import plan as plans
from tacit.core import Catalog, Dataset, Loss
from tacit.errors import InvalidValue
from tacit.stream.factor import EACH, Window

MOST_STEPS = 10**6
DAYS = {plans.Span.DAYS: 1, plans.Span.WEEKS: 7}
MONTHS = {plans.Span.MONTHS: 1, plans.Span.QUARTERS: 3, plans.Span.YEARS: 12}


@dataclass(frozen=True, slots=True)
class Periods:
    """The steps of a stream: consecutive periods of a day column.

    The first period is the one that contains the day ``first``.

    Example:
        >>> weeks = Periods("day", plans.Span.WEEKS, date(2026, 1, 7), 52)
        >>> [day.isoformat() for day in weeks.ends(1)]
        ['2026-01-12', '2026-01-19']
    """

    day: str
    span: plans.Span
    first: date
    horizon: int

    def __post_init__(self) -> None:
        if not 1 <= self.horizon <= MOST_STEPS:
            raise InvalidValue(
                f"A stream must have 1 to {MOST_STEPS} steps, but {self.horizon} were given."
            )

    def ends(self, number: int) -> tuple[date, date]:
        """Return the first day of period ``number``, from 0, and the first day after it."""
        if not 0 <= number < self.horizon:
            raise InvalidValue(
                f"This stream has steps 0 to {self.horizon - 1}, so there is no step {number}."
            )
        return self._start(number), self._start(number + 1)

    def due(self, today: date, wait: int = 0) -> int:
        """Return the number of periods that ended at least ``wait`` days before ``today``."""
        seen = today - timedelta(days=wait)
        return bisect_right(range(1, self.horizon + 1), seen, key=self._start)

    def _start(self, number: int) -> date:
        first = self.span.start(self.first)
        if self.span in DAYS:
            return first + timedelta(days=number * DAYS[self.span])
        months = first.month - 1 + number * MONTHS[self.span]
        return first.replace(year=first.year + months // 12, month=months % 12 + 1)


STREAMS = plans.PLANS.with_more(
    {
        Periods: plans.StoredForm("Periods", ("day", "span", "first", "horizon")),
        Window: plans.StoredForm("Window", ("steps",)),
    }
)
"""Stored forms of the plan, the periods and the window; see `tacit.plan.canonical_form`."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A repeated question: its plan, its periods, its window, and the loss of all steps.

    A unit counts in at most ``max_steps`` steps, the first ones in which it has rows. None
    means all steps, and needs no assumption about how rows change.
    """

    plan: plans.Plan
    periods: Periods
    loss: Loss
    window: Window = EACH
    max_steps: int | None = None

    def __post_init__(self) -> None:
        if self.plan.sets:
            raise InvalidValue(
                "A stream does not support GROUPING SETS, ROLLUP and CUBE; write a GROUP BY of "
                "all keys, and add up its groups."
            )
        if not 1 <= self.steps <= self.horizon:
            raise InvalidValue(
                f"max_steps must be 1 to {self.horizon}, the number of steps, but "
                f"max_steps={self.max_steps} was given."
            )

    @property
    def horizon(self) -> int:
        """The number of steps."""
        return self.periods.horizon

    @property
    def steps(self) -> int:
        """The largest number of steps in which one unit counts."""
        return self.horizon if self.max_steps is None else self.max_steps

    @property
    def limited(self) -> bool:
        """Whether some units may be left out of some steps."""
        return self.steps < self.horizon

    @property
    def hash(self) -> bytes:
        """The hash that identifies the stream. Streams with equal hashes are charged once."""
        asked = plans.canonical(self.plan)
        said = plans.text((asked.plan, *self._declared), STREAMS)
        return sha256(f"tacit stream 1\n{said}".encode()).digest()

    @property
    def _declared(self) -> tuple[object, ...]:
        return self.periods, self.window, self.max_steps

    def plan_of(self, number: int) -> plans.Plan:
        """Return the plan of one step, which reads the rows of that period.

        If ``max_steps`` limits the steps of a unit, the plan reads the rows of all periods so
        far, from which an engine finds the first periods of each unit; see
        `tacit.stream.quote`.
        """
        start, after = self.periods.ends(number)
        if self.limited:
            start = self.periods.ends(0)[0]
        day = plans.Field(self.periods.day)
        within = plans.And(
            (
                plans.Compare(plans.Comparison.AT_LEAST, day, plans.Constant(start)),
                plans.Compare(plans.Comparison.LESS, day, plans.Constant(after)),
            )
        )
        plan = self.plan
        return plans.Plan(
            plans.Filter(plan.source, within), plan.keys, plan.measures, plan.post
        )


# ------------------------------------------------------------------ completeness of the data
# The release of a step is final. If a step were released too early, or from a copy that was
# made before the period ended, it would state forever that the missing rows do not exist.

_LABEL = re.compile(
    r"(?P<year>\d{4})"
    r"(?:-W(?P<week>\d{2})|-Q(?P<quarter>[1-4])|-(?P<month>\d{2})(?:-(?P<day>\d{2}))?)?"
)
_DECEMBER = 12


def check_over(periods: Periods, number: int, today: date) -> None:
    """Raise for a step whose period is not over on the day ``today``."""
    start, after = periods.ends(number)
    if today < after:
        raise InvalidValue(
            f"The {_span(periods)} of {start} is over on {after}, and today is {today}: its "
            f"data is not complete, and a release is final. Release it on {after} or later."
        )


def check_covered(
    periods: Periods, number: int, catalog: Catalog, tables: Iterable[str]
) -> None:
    """Raise for a step of a period that a table is not declared to cover.

    If the epoch of a table is named by a day, week, month, quarter or year, the table covers
    the time up to the end of it. A table whose epoch has another name is taken as complete. A
    prepared copy must have an epoch that names a time, and it covers nothing after the day on
    which it was made. A copy whose date is not known covers nothing.
    """
    start, after = periods.ends(number)
    for name in tables:
        table = catalog.table(name)
        if not isinstance(table, Dataset):
            continue
        label = table.epoch.label
        made = None if table.copy is None else table.copy.made
        if table.copy is not None and (made is None or made < after):
            day = "an unknown day" if made is None else made
            raise InvalidValue(
                f"The {_span(periods)} of {start} goes up to {after - timedelta(days=1)}, but "
                f"the copy of {name!r} was made on {day}, so that rows may be missing. A "
                f"release is final. Make the copy again: tacit prepare {name}"
            )
        until = covered_until(label)
        if until is None and table.copy is None:
            continue
        if until is None or until < after:
            reason = "does not say up to which day it is complete" if until is None else "ends"
            ended = "" if until is None else f" on {until - timedelta(days=1)}"
            raise InvalidValue(
                f"The {_span(periods)} of {start} goes up to {after - timedelta(days=1)}, but "
                f"{name!r} is of epoch {label!r}, which {reason}{ended}. A release is final, "
                "so all rows of the period must be in the table. Declare an epoch that covers "
                f'the period, such as epoch = "{after - timedelta(days=1)}", and record it '
                "with `tacit apply`. If the table has a copy, make the copy again: "
                f"tacit prepare {name}"
            )


def names_a_time(label: str) -> bool:
    """Return whether ``label`` has the form of a day, week, month, quarter or year.

    Example:
        >>> [names_a_time(label) for label in ("2026-W07", "2026-W99", "the new ward")]
        [True, True, False]
    """
    return _LABEL.fullmatch(label) is not None


def covered_until(label: str) -> date | None:
    """Return the first day after the time that an epoch's label names, or None.

    None is returned for a label that does not name a day, week, month, quarter or year.

    Example:
        >>> [covered_until(label).isoformat() for label in ("2026-02-09", "2026-W07", "2026")]
        ['2026-02-10', '2026-02-16', '2027-01-01']
        >>> covered_until("after the migration")
    """
    found = _LABEL.fullmatch(label)
    if found is None:
        return None
    year, week, quarter, month, day = (
        None if part is None else int(part)
        for part in found.group("year", "week", "quarter", "month", "day")
    )
    try:
        if week is not None:
            return date.fromisocalendar(year or 0, week, 1) + timedelta(days=7)
        if day is not None:
            return date(year or 0, month or 0, day) + timedelta(days=1)
        last = 3 * quarter if quarter else _DECEMBER if month is None else month
        return (date(year or 0, last, 28) + timedelta(days=4)).replace(day=1)
    except (ValueError, OverflowError):
        return None


def _span(periods: Periods) -> str:
    return periods.span.value.lower()
