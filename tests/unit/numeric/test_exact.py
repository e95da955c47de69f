from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tacit.errors import InvalidValue
from tacit.numeric.exact_numbers import (
    LARGEST_POWER,
    Interval,
    Number,
    ceil_to,
    exact,
    exp_bounds,
    floor_to,
    log_bounds,
    plain,
    sqrt_bounds,
)

RATIONALS = st.fractions(min_value=-40, max_value=40, max_denominator=10**6)
POSITIVE = st.fractions(min_value=Fraction(1, 10**6), max_value=40, max_denominator=10**6)
DIGITS = st.integers(min_value=8, max_value=60)
LOG_DIGITS = st.integers(min_value=20, max_value=60)


# Taylor's series; from n >= 2 * abs(value) on, all that follows is below the last term
def exp_oracle(value: Fraction) -> Interval:
    term, total, n = Fraction(1), Fraction(1), 0
    while n < 2 * abs(value) or abs(term) > Fraction(1, 10**90):
        n += 1
        term *= value / n
        total += term
    return total - abs(term), total + abs(term)


# x + x**3/3 + x**5/5 + ...; for x up to 1/3, all that follows is below the last power
def atanh_oracle(value: Fraction) -> Interval:
    power, total, n = value, value, 1
    while abs(power) > Fraction(1, 10**90):
        n += 2
        power *= value**2
        total += power / n
    return total - abs(power), total + abs(power)


# log(2**k * m) = 2 k atanh(1/3) + 2 atanh((m-1)/(m+1)), with m in [1, 2)
def log_oracle(value: Fraction) -> Interval:
    halvings = 0
    while value >= 2:
        value, halvings = value / 2, halvings + 1
    while value < 1:
        value, halvings = value * 2, halvings - 1
    low, high = atanh_oracle((value - 1) / (value + 1))
    two = sorted(2 * halvings * end for end in atanh_oracle(Fraction(1, 3)))
    return two[0] + 2 * low, two[1] + 2 * high


def contains(interval: Interval, truth: Interval) -> bool:
    return interval[0] < truth[0] and truth[1] < interval[1]


def shifted(interval: Interval) -> Interval:
    width = interval[1] - interval[0]
    return interval[0] + width, interval[1] + width


# ---------------------------------------------------------------- what a person wrote


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (2, Fraction(2)),
        (0.1, Fraction(1, 10)),
        (-2.5e-3, Fraction(-1, 400)),
        (1e300, Fraction(10) ** 300),
        ("1/3", Fraction(1, 3)),
        ("-0.25", Fraction(-1, 4)),
        ("1e-6", Fraction(1, 10**6)),
        ("250_000.50", Fraction(500001, 2)),
        ("1e1000", Fraction(10) ** 1000),
        (Fraction(2, 7), Fraction(2, 7)),
        (Decimal("0.10"), Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int64(-7), Fraction(-7)),
        (np.uint8(200), Fraction(200)),
    ],
)
def test_a_number_means_what_was_written(written: Number, meant: Fraction) -> None:
    assert exact(written) == meant


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_means_the_shortest_decimal_that_prints_it(written: float) -> None:
    assert exact(written) == Fraction(Decimal(repr(written)))
    assert float(exact(written)) == written


def test_a_float_read_bit_by_bit_is_not_what_was_written() -> None:
    assert sum(exact(0.1) for _ in range(10)) == 1
    assert sum(Fraction(0.1) for _ in range(10)) != 1


@pytest.mark.parametrize(
    "written",
    [
        True,
        False,
        None,
        1j,
        [1],
        float("nan"),
        float("inf"),
        -float("inf"),
        np.float64("nan"),
        np.bool_(True),
        "1/0",
        "nan",
        "inf",
        "sNaN",
        "",
        "one",
        "0x10",
        "1e999999999",
        "1e-999999999",
        "1e1001",
        "1/1e999999999",
        "9" * 200,
        Decimal("NaN"),
        Decimal("Infinity"),
        Decimal("1e-1001"),
    ],
)
def test_what_is_no_finite_number_is_refused_and_shown(written: object) -> None:
    with pytest.raises(InvalidValue, match="A finite number is expected") as refusal:
        exact(written)
    assert repr(written)[:100] in str(refusal.value)
    assert "Write 2, 0.1, '1/3'" in str(refusal.value)


def test_a_refusal_does_not_repeat_a_long_text_whole() -> None:
    with pytest.raises(InvalidValue) as refusal:
        exact("9" * 10**6)
    assert "9" * 99 in str(refusal.value)
    assert len(str(refusal.value)) < 300


def test_the_longest_text_is_taken_and_one_character_more_is_not() -> None:
    assert exact("1".rjust(100, "0")) == exact("1/2".rjust(100, "0")) * 2 == 1
    for longer in ("1".rjust(101, "0"), "1/2".rjust(101, "0")):
        with pytest.raises(InvalidValue, match="A finite number is expected"):
            exact(longer)


# ---------------------------------------------------------------- as a person would write it


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 10), "0.1"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(0), "0"),
        (Fraction(5), "5"),
        (Fraction(1200), "1200"),
        (Fraction(10) ** 30, "1" + "0" * 30),
        (Fraction(1, 10**12), "0.000000000001"),
        (Fraction(1, 3), "1/3"),
        (Fraction(-22, 7), "-22/7"),
    ],
)
def test_plain_is_a_decimal_where_there_is_one(value: Fraction, text: str) -> None:
    assert plain(value) == text


@given(st.fractions())
def test_plain_loses_nothing(value: Fraction) -> None:
    assert exact(plain(value)) == value


@given(st.integers(), st.integers(0, 80), st.integers(0, 80))
def test_plain_never_cuts_or_shortens_a_decimal(top: int, twos: int, fives: int) -> None:
    value = Fraction(top, 2**twos * 5**fives)
    assert Fraction(plain(value)) == value
    assert not set(plain(value)) & set("/eE")


def test_a_printed_float_would_lose_digits() -> None:
    value = Fraction(1, 10**18) + 1
    assert Fraction(plain(value)) == value
    assert Fraction(str(float(value))) != value


# ---------------------------------------------------------------- directed rounding


def is_ceiling(rounded: Fraction, value: Fraction, unit: Fraction) -> bool:
    return (rounded / unit).denominator == 1 and 0 <= rounded - value < unit


@given(st.fractions(), st.fractions(min_value=Fraction(1, 1000), max_value=1000))
def test_a_cost_is_rounded_up_and_a_limit_down(value: Fraction, unit: Fraction) -> None:
    assert is_ceiling(ceil_to(value, unit), value, unit)
    assert is_ceiling(-floor_to(value, unit), -value, unit)
    assert not is_ceiling(ceil_to(value, unit) + unit, value, unit)
    assert not is_ceiling(ceil_to(value, unit) - unit, value, unit)


def test_a_multiple_stays_where_it_is() -> None:
    assert ceil_to(Fraction(3, 10), Fraction(1, 10)) == Fraction(3, 10)
    assert floor_to(Fraction(3, 10), Fraction(1, 10)) == Fraction(3, 10)


@pytest.mark.parametrize("unit", [Fraction(0), Fraction(-1)])
def test_a_unit_is_above_zero(unit: Fraction) -> None:
    with pytest.raises(InvalidValue, match=f"above 0 is expected, but {unit} was given"):
        ceil_to(Fraction(1), unit)
    with pytest.raises(InvalidValue, match=f"above 0 is expected, but {unit} was given"):
        floor_to(Fraction(1), unit)


# ---------------------------------------------------------------- exp, log and root


@given(RATIONALS, DIGITS)
def test_exp_bounds_contain_the_series(value: Fraction, digits: int) -> None:
    bounds, truth = exp_bounds(value, digits), exp_oracle(value)
    assert contains(bounds, truth)
    assert not contains(shifted(bounds), truth)
    assert bounds[0] >= 0


@given(RATIONALS, DIGITS)
def test_exp_bounds_are_as_near_as_their_digits(value: Fraction, digits: int) -> None:
    lower, upper = exp_bounds(value, digits)
    assert upper - lower < upper / 10 ** (digits - 4)
    assert upper - lower > upper / 10 ** (digits + 4)


@given(RATIONALS)
def test_more_digits_move_exp_by_less_than_the_wider_bounds(value: Fraction) -> None:
    rough, fine = exp_bounds(value, 10), exp_bounds(value, 40)
    assert fine[1] - fine[0] < (rough[1] - rough[0]) / 10**20
    assert rough[0] < fine[1]
    assert fine[0] < rough[1]


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_few_digits_still_contain_exp(digits: int) -> None:
    for value in range(-5, 6):
        assert contains(exp_bounds(Fraction(value), digits), exp_oracle(Fraction(value)))


def test_exp_of_a_very_negative_number_stays_at_least_zero() -> None:
    lower, upper = exp_bounds(Fraction(-100_000))
    assert 0 <= lower < upper < Fraction(1, 10**4_000)
    assert exp_bounds(Fraction(-(10**30))) == (lower, upper)
    assert exp_bounds(Fraction(-LARGEST_POWER))[0] > 0


def test_exp_of_a_very_great_number_is_refused() -> None:
    assert exp_bounds(Fraction(LARGEST_POWER))[0] > 10**4_000
    with pytest.raises(InvalidValue, match="at most 10000, but 20001/2 was given"):
        exp_bounds(LARGEST_POWER + Fraction(1, 2))


def test_fifty_digits_are_what_nobody_has_to_ask_for() -> None:
    for bounds in (exp_bounds, log_bounds, sqrt_bounds):
        assert bounds(Fraction(2)) == bounds(Fraction(2), 50) != bounds(Fraction(2), 51)


@given(POSITIVE, LOG_DIGITS)
def test_log_bounds_contain_the_series(value: Fraction, digits: int) -> None:
    assume(value != 1)
    bounds, truth = log_bounds(value, digits), log_oracle(value)
    assert contains(bounds, truth)
    assert not contains(shifted(bounds), truth)


@given(POSITIVE, LOG_DIGITS)
def test_log_bounds_are_as_near_as_their_digits(value: Fraction, digits: int) -> None:
    assume(value != 1)
    lower, upper = log_bounds(value, digits)
    assert 0 < upper - lower < Fraction(100, 10 ** (digits - 2))


@given(RATIONALS)
def test_log_undoes_exp(value: Fraction) -> None:
    assume(value != 0)
    lower, upper = exp_bounds(value)
    assert log_bounds(lower)[0] < value < log_bounds(upper)[1]
    assert not log_bounds(upper)[1] < value


@pytest.mark.parametrize("value", [Fraction(0), Fraction(-1, 2)])
def test_a_logarithm_needs_a_positive_number(value: Fraction) -> None:
    with pytest.raises(InvalidValue, match=f"above 0 is expected, but {value} was given"):
        log_bounds(value)


@given(st.fractions(min_value=0, max_value=10**12), st.integers(0, 60))
def test_sqrt_bounds_contain_the_root(value: Fraction, digits: int) -> None:
    lower, upper = sqrt_bounds(value, digits)
    assert 0 <= lower**2 <= value <= upper**2
    assert upper - lower <= Fraction(1, 10**digits)


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**12))
def test_a_shifted_root_is_no_root(value: Fraction) -> None:
    lower, upper = shifted(sqrt_bounds(value))
    assume(lower < upper)
    assert not lower**2 <= value <= upper**2


@given(st.fractions(min_value=0))
def test_a_rational_root_is_exact(root: Fraction) -> None:
    assert sqrt_bounds(root**2, digits=0) == (root, root)


def test_an_irrational_root_lies_between_its_bounds() -> None:
    assert sqrt_bounds(Fraction(2), digits=0) == (1, 2)
    assert sqrt_bounds(Fraction(1, 2), digits=1) == (Fraction(7, 10), Fraction(15, 20))


def test_a_negative_number_has_no_root() -> None:
    with pytest.raises(InvalidValue, match="at least 0, but -1/4 was given"):
        sqrt_bounds(Fraction(-1, 4))


def test_the_logarithm_of_one_lies_around_zero() -> None:
    lower, upper = log_bounds(Fraction(1))
    assert lower < 0 < upper
    assert log_bounds(1 + Fraction(1, 10**60))[0] < Fraction(1, 10**60)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_a_number_of_numpy_does_not_wrap(kind: type[np.integer]) -> None:
    most = int(np.iinfo(kind).max)
    assert exact(kind(most)) + exact(kind(most)) == 2 * most
    assert exact(kind(most)) * exact(kind(most)) == most**2
