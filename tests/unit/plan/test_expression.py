"""Expressions of a row, and the calendar: all of it is public, and none of it can fail."""

from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidValue
from tacit.plan.expression import Bin, Comparison, DatePartName, Field, OneOf, Span

DAYS = st.dates(date(1890, 1, 1), date(2110, 12, 31))
TOLD = {
    Comparison.EQUAL: (False, True, False),
    Comparison.UNEQUAL: (True, False, True),
    Comparison.LESS: (True, False, False),
    Comparison.AT_MOST: (True, True, False),
    Comparison.MORE: (False, False, True),
    Comparison.AT_LEAST: (False, True, True),
}
MIRRORED = {
    Comparison.EQUAL: Comparison.EQUAL,
    Comparison.UNEQUAL: Comparison.UNEQUAL,
    Comparison.LESS: Comparison.MORE,
    Comparison.AT_MOST: Comparison.AT_LEAST,
    Comparison.MORE: Comparison.LESS,
    Comparison.AT_LEAST: Comparison.AT_MOST,
}


@pytest.mark.parametrize("comparison", Comparison)
def test_a_comparison_is_what_its_sign_says(comparison: Comparison) -> None:
    found = tuple(comparison.holds(left, right) for left, right in ((1, 2), (2, 2), (3, 2)))
    assert found == TOLD[comparison]


@pytest.mark.parametrize("comparison", Comparison)
def test_a_mirrored_comparison_has_its_sides_exchanged(comparison: Comparison) -> None:
    assert comparison.mirrored is MIRRORED[comparison]
    for left in range(3):
        for right in range(3):
            assert comparison.holds(left, right) is comparison.mirrored.holds(right, left)


@pytest.mark.parametrize("width", [0, -1, -10])
def test_a_bin_is_at_least_1_wide(width: int) -> None:
    with pytest.raises(InvalidValue, match=f"at least 1, not {width}"):
        Bin(Field("x"), width)
    assert Bin(Field("x"), 1).width == 1


def test_a_list_has_a_value() -> None:
    with pytest.raises(InvalidValue, match="IN needs at least one value"):
        OneOf(Field("x"), ())
    assert OneOf(Field("x"), (1,)).values == (1,)


@pytest.mark.parametrize(
    ("day", "parts"),
    [
        (date(2026, 1, 1), (2026, 1, 1, 1, 4, 4, 1, 1, 2026, 202, 21, 3)),
        (date(2026, 3, 31), (2026, 1, 3, 31, 2, 2, 90, 14, 2026, 202, 21, 3)),
        (date(2026, 4, 1), (2026, 2, 4, 1, 3, 3, 91, 14, 2026, 202, 21, 3)),
        (date(2026, 6, 30), (2026, 2, 6, 30, 2, 2, 181, 27, 2026, 202, 21, 3)),
        (date(2026, 7, 4), (2026, 3, 7, 4, 6, 6, 185, 27, 2026, 202, 21, 3)),
        (date(2026, 9, 30), (2026, 3, 9, 30, 3, 3, 273, 40, 2026, 202, 21, 3)),
        (date(2026, 10, 4), (2026, 4, 10, 4, 0, 7, 277, 40, 2026, 202, 21, 3)),
        (date(2027, 1, 1), (2027, 1, 1, 1, 5, 5, 1, 53, 2026, 202, 21, 3)),
        (date(2024, 12, 30), (2024, 4, 12, 30, 1, 1, 365, 1, 2025, 202, 21, 3)),
        (date(2000, 12, 31), (2000, 4, 12, 31, 0, 7, 366, 52, 2000, 200, 20, 2)),
        (date(2024, 2, 29), (2024, 1, 2, 29, 4, 4, 60, 9, 2024, 202, 21, 3)),
        (date(1, 1, 1), (1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1)),
        (date(9999, 12, 31), (9999, 4, 12, 31, 5, 5, 365, 52, 9999, 999, 100, 10)),
    ],
)
def test_the_parts_of_a_day(day: date, parts: tuple[int, ...]) -> None:
    assert tuple(part.of(day) for part in DatePartName if not part.is_of_time) == parts
    assert [part.of(day) for part in DatePartName if part.is_of_time] == [0, 0]


@pytest.mark.parametrize("part", DatePartName)
@given(day=DAYS)
def test_a_part_lies_in_its_reach(part: DatePartName, day: date) -> None:
    low, high = part.reach(day, day)
    assert low <= part.of(day) <= high


@pytest.mark.parametrize(
    ("part", "reach"),
    [
        (DatePartName.YEAR, (2024, 2026)),
        (DatePartName.QUARTER, (1, 4)),
        (DatePartName.MONTH, (1, 12)),
        (DatePartName.DAY, (1, 31)),
        (DatePartName.WEEKDAY, (0, 6)),
    ],
)
def test_the_reach_of_a_part_is_no_wider_than_it_must_be(
    part: DatePartName, reach: tuple[int, int]
) -> None:
    first, last = date(2024, 1, 1), date(2026, 12, 31)
    assert part.reach(first, last) == reach
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    assert (min(map(part.of, days)), max(map(part.of, days))) == reach


@pytest.mark.parametrize(
    ("span", "start"),
    [
        (Span.YEARS, date(2026, 1, 1)),
        (Span.QUARTERS, date(2026, 7, 1)),
        (Span.MONTHS, date(2026, 8, 1)),
        (Span.WEEKS, date(2026, 8, 10)),
        (Span.DAYS, date(2026, 8, 16)),
    ],
)
def test_the_start_of_a_period(span: Span, start: date) -> None:
    sunday = date(2026, 8, 16)
    assert span.start(sunday) == start
    assert span.start(start) == start
    assert span.start(start - timedelta(days=1)) < start


@pytest.mark.parametrize(
    ("span", "longest"),
    [
        (Span.YEARS, 366),
        (Span.QUARTERS, 92),
        (Span.MONTHS, 31),
        (Span.WEEKS, 7),
        (Span.DAYS, 1),
    ],
)
def test_the_longest_period_is_the_longest_there_is(span: Span, longest: int) -> None:
    assert span.longest == longest
    starts = list(span.starts(date(2023, 1, 1), date(2028, 12, 31)))
    assert max((two - one).days for one, two in pairwise(starts)) == longest


@pytest.mark.parametrize("span", Span)
@given(first=DAYS, more=st.integers(0, 900))
def test_periods_are_all_and_each_once(span: Span, first: date, more: int) -> None:
    last = first + timedelta(days=more)
    days = (first + timedelta(days=n) for n in range(more + 1))
    assert list(span.starts(first, last)) == list(dict.fromkeys(map(span.start, days)))


def test_one_day_has_one_period() -> None:
    for span in Span:
        assert list(span.starts(date(2026, 5, 5), date(2026, 5, 5))) == [
            span.start(date(2026, 5, 5))
        ]
