# ruff: noqa: S608 - our own names

from datetime import date

import pytest
from ward import CATALOG

from tacit.core.loss import Loss
from tacit.errors import InvalidValue
from tacit.plan.expression import Span
from tacit.sql.parser import parse
from tacit.stream.factor import Window
from tacit.stream.quote import bounded_step, price_stream
from tacit.stream.stream import Periods, Stream


@pytest.mark.parametrize("span", Span)
def test_periods_follow_each_other_as_in_the_calendar(span: Span) -> None:
    periods = Periods("day", span, date(2023, 11, 30), 30)
    starts = [periods.ends(number)[0] for number in range(30)]
    assert starts == list(span.starts(date(2023, 11, 30), starts[-1]))
    assert [periods.ends(number)[1] for number in range(29)] == starts[1:]


def test_a_period_is_due_when_it_is_over_and_was_waited_for() -> None:
    weeks = Periods("day", Span.WEEKS, date(2026, 1, 5), 3)
    days = [date(2026, 1, day) for day in (5, 11, 12, 19, 25, 26)] + [date(2027, 1, 1)]
    assert [weeks.due(day) for day in days] == [0, 0, 1, 2, 2, 3, 3]
    assert weeks.due(date(2026, 1, 14), wait=3) == 0
    assert weeks.due(date(2026, 1, 15), wait=3) == 1


def test_steps_beyond_the_horizon_and_empty_ones_are_refused() -> None:
    with pytest.raises(InvalidValue, match="steps 0 to 2"):
        Periods("day", Span.DAYS, date(2026, 1, 5), 3).ends(3)
    with pytest.raises(InvalidValue, match="0 were given"):
        Periods("day", Span.DAYS, date(2026, 1, 5), 0)
    with pytest.raises(InvalidValue, match="1 step or more"):
        Window(0)


STREAMED = "SELECT COUNT(*) FROM visits"


@pytest.mark.parametrize(
    "text",
    [
        f"{STREAMED} WHERE id NOT IN (SELECT visit FROM labs)",
        f"{STREAMED} WHERE id IN (SELECT visit FROM labs)",
        f"{STREAMED} LEFT JOIN labs ON labs.visit = visits.id",
    ],
)
def test_rows_that_later_rows_can_take_back_are_not_streamed(text: str) -> None:
    # a unit could count in more steps than its limit if an earlier row ceased to count
    def priced(asked: str) -> Loss:
        periods = Periods("day", Span.WEEKS, date(2026, 1, 5), 3)
        stream = Stream(parse(asked, CATALOG), periods, Loss.zcdp("0.5"), max_steps=1)
        return price_stream(stream, CATALOG).stream.loss

    with pytest.raises(InvalidValue, match="rows that arrive later would change which earlier"):
        priced(text)
    assert priced(STREAMED) == Loss.zcdp("0.5")
    assert priced(f"{STREAMED} JOIN labs ON labs.visit = visits.id") == Loss.zcdp("0.5")


@pytest.mark.parametrize("max_steps", [None, 2])
@pytest.mark.parametrize(
    ("key", "groups"),
    [("DATE_TRUNC('month', day)", 12), ("DATE_TRUNC('day', day)", 365), ("YEAR(day)", 1)],
)
def test_all_steps_have_the_same_groups(key: str, groups: int, max_steps: int | None) -> None:
    """A step reads the days of one period. Running totals are about all groups at all steps:
    keys without those of other periods would add the numbers of different groups.
    """
    text = f"SELECT {key}, COUNT(*) FROM visits WHERE ward = 'north' GROUP BY {key}"
    periods = Periods("day", Span.WEEKS, date(2026, 1, 5), 6)
    stream = Stream(parse(text, CATALOG), periods, Loss.zcdp("0.5"), max_steps=max_steps)
    assert price_stream(stream, CATALOG).groups == groups
    plans = [bounded_step(stream, number, CATALOG).plan for number in range(6)]
    assert len({plan.keys for plan in plans}) == 1
