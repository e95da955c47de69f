"""A question that is answered again and again: what is declared of it, once."""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import sha256

from tacit.core.loss import Loss
from tacit.errors import InvalidValue
from tacit.plan.calendar import Span
from tacit.plan.canonical import PLANS, StoredForm, canonical, text
from tacit.plan.expression import And, Compare, Comparison, Constant, Field
from tacit.plan.plan import Plan
from tacit.plan.relation import Filter
from tacit.stream.window import EACH, Window

MOST_STEPS = 10**6
DAYS = {Span.DAYS: 1, Span.WEEKS: 7}
MONTHS = {Span.MONTHS: 1, Span.QUARTERS: 3, Span.YEARS: 12}


@dataclass(frozen=True, slots=True)
class Periods:
    """The steps of a stream: periods of a column of days, from that of ``first`` on.

    Example:
        >>> weeks = Periods("day", Span.WEEKS, date(2026, 1, 7), 52)
        >>> [day.isoformat() for day in weeks.ends(1)]
        ['2026-01-12', '2026-01-19']
    """

    day: str
    span: Span
    first: date
    horizon: int

    def __post_init__(self) -> None:
        if not 1 <= self.horizon <= MOST_STEPS:
            raise InvalidValue(
                f"A stream has 1 to {MOST_STEPS} steps, and {self.horizon} were given."
            )

    def ends(self, number: int) -> tuple[date, date]:
        """The first day of a period, counted from 0 on, and the first one after it."""
        if not 0 <= number < self.horizon:
            raise InvalidValue(f"This stream has steps 0 to {self.horizon - 1}, not {number}.")
        return self._start(number), self._start(number + 1)

    def due(self, today: date, wait: int = 0) -> int:
        """How many periods are over, and were so ``wait`` days ago."""
        seen = today - timedelta(days=wait)
        return bisect_right(range(1, self.horizon + 1), seen, key=self._start)

    def _start(self, number: int) -> date:
        first = self.span.start(self.first)
        if self.span in DAYS:
            return first + timedelta(days=number * DAYS[self.span])
        months = first.month - 1 + number * MONTHS[self.span]
        return first.replace(year=first.year + months // 12, month=months % 12 + 1)


STREAMS = PLANS.with_more(
    {
        Periods: StoredForm("Periods", ("day", "span", "first", "horizon")),
        Window: StoredForm("Window", ("steps",)),
    }
)
"""The stored forms of a stream's question and of its steps; see `tacit.plan.canonical`."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A question, its periods, what is shown of them, and what all of it together may lose.

    A unit counts in ``max_steps`` steps at most, the first in which it has rows; None is all of
    them, and assumes nothing.
    """

    plan: Plan
    periods: Periods
    loss: Loss
    window: Window = EACH
    max_steps: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.steps <= self.horizon:
            raise InvalidValue(
                f"A unit is in 1 to {self.horizon} steps, and max_steps={self.max_steps} was "
                "given."
            )

    @property
    def horizon(self) -> int:
        """The number of steps."""
        return self.periods.horizon

    @property
    def steps(self) -> int:
        """The most steps that one unit counts in."""
        return self.horizon if self.max_steps is None else self.max_steps

    @property
    def limited(self) -> bool:
        """Whether some units may be left out of some steps."""
        return self.steps < self.horizon

    @property
    def hash(self) -> bytes:
        """What the stream is known by: equal ones are charged once."""
        asked = canonical(self.plan)
        said = text((asked.plan, *self._declared), STREAMS)
        return sha256(f"tacit stream 1\n{said}".encode()).digest()

    @property
    def _declared(self) -> tuple[object, ...]:
        return self.periods, self.window, self.max_steps

    def plan_of(self, number: int) -> Plan:
        """The question about one step: its rows are those of that period.

        Where a unit is in few steps they are those of all periods so far, among which an engine
        finds the first of each unit; see `tacit.stream.bounded_step`.
        """
        start, after = self.periods.ends(number)
        if self.limited:
            start = self.periods.ends(0)[0]
        day = Field(self.periods.day)
        within = And(
            (
                Compare(Comparison.AT_LEAST, day, Constant(start)),
                Compare(Comparison.LESS, day, Constant(after)),
            )
        )
        plan = self.plan
        return Plan(Filter(plan.source, within), plan.keys, plan.measures, plan.post)
