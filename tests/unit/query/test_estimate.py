"""Arithmetic on released values, and the intervals that go with it."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidValue
from tacit.query.post_processing import IntervalValue

F = Fraction
NEAR = IntervalValue(F(10), (F(8), F(12)), F(1, 20))
OTHER = IntervalValue(F(-2), (F(-3), F(1)), F(1, 10))
EXACT, NULL = IntervalValue(F(4)), IntervalValue(None)
UNKNOWN = IntervalValue(F(5), None, F(1, 20))


@pytest.mark.parametrize(
    ("found", "value", "interval", "doubt"),
    [
        (NEAR + OTHER, 8, (5, 13), F(3, 20)),
        (NEAR - OTHER, 12, (7, 15), F(3, 20)),
        (NEAR * OTHER, -20, (-36, 12), F(3, 20)),
        (NEAR + EXACT, 14, (12, 16), F(1, 20)),
        (EXACT - NEAR, -6, (-8, -4), F(1, 20)),
        (NEAR * EXACT, 40, (32, 48), F(1, 20)),
        (NEAR / EXACT, F(5, 2), (2, 3), F(1, 20)),
        (EXACT / NEAR, F(2, 5), (F(1, 3), F(1, 2)), F(1, 20)),
        (EXACT * EXACT, 16, None, 0),
        (EXACT / EXACT, 1, None, 0),
        # a divisor that may be 0, and a part of which nothing is known
        (NEAR / OTHER, -5, None, F(3, 20)),
        (NEAR + UNKNOWN, 15, None, F(1, 10)),
        (UNKNOWN * EXACT, 20, None, F(1, 20)),
        (NEAR + NULL, None, None, 0),
        (NULL * NEAR, None, None, 0),
        (NEAR / IntervalValue(F(0)), None, None, 0),
        (NULL / NEAR, None, None, 0),
        (NEAR / NULL, None, None, 0),
    ],
)
def test_what_is_computed_of_two(
    found: IntervalValue, value: object, interval: object, doubt: Fraction
) -> None:
    assert (found.value, found.interval, found.doubt) == (value, interval, doubt)


@pytest.mark.parametrize("interval", [(F(0), F(2)), (F(-2), F(0)), (F(0), F(0))])
def test_nothing_is_said_where_the_divisor_can_be_0(
    interval: tuple[Fraction, Fraction],
) -> None:
    divisor = IntervalValue(F(1), interval, F(1, 20))
    assert (EXACT / divisor).interval is None
    assert (EXACT / divisor).doubt == F(1, 20)


@given(st.lists(st.integers(-9, 9), min_size=4, max_size=4), st.sampled_from("+-*/"))
def test_where_both_intervals_hold_so_does_that_of_the_result(
    ends: list[int], operation: str
) -> None:
    (a, b), (c, d) = sorted(map(F, ends[:2])), sorted(map(F, ends[2:]))
    one, other = IntervalValue(a, (a, b), F(1, 20)), IntervalValue(c, (c, d), F(1, 20))
    compute = {
        "+": lambda x, y: x + y,
        "-": lambda x, y: x - y,
        "*": lambda x, y: x * y,
        "/": lambda x, y: x / y,
    }[operation]
    if operation == "/" and c == 0:
        return
    found = compute(one, other)
    if found.interval is None:
        assert operation == "/"
        assert c <= 0 <= d
        return
    truths = [compute(x, y) for x, y in product((a, (a + b) / 2, b), (c, (c + d) / 2, d))]
    assert found.interval[0] <= min(truths) <= max(truths) <= found.interval[1]


@pytest.mark.parametrize("value", [True, "north", None])
def test_what_is_no_number_is_not_computed_with(value: object) -> None:
    with pytest.raises(InvalidValue, match="Arithmetic with released values needs numbers"):
        _ = IntervalValue(value).number  # type: ignore[arg-type]
    assert IntervalValue(7).number == F(7)
