from datetime import date

import pytest

from tacit.errors import InvalidValue
from tacit.plan.expression import Span
from tacit.stream.factor import Window
from tacit.stream.stream import Periods


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
