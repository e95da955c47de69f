"""Steps of a grid and the ranges that they never leave, computed by hand."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.domain import Kind
from tacit.engines.reference import steps as evaluated
from tacit.errors import InvalidValue
from tacit.plan.steps import (
    MOST_KEYS,
    ROOM,
    ComputedColumn,
    ComputedSteps,
    HalvedSteps,
    ProductSteps,
    Ranged,
    SumSteps,
    WholeSteps,
    in_one_step,
)

X, Y = ComputedSteps("x"), ComputedSteps("y")
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def number(
    low: int, high: int, step: Fraction = Fraction(1), rounding: Fraction = Fraction(0)
) -> Ranged:
    return Ranged(X, low, high, step, rounding)


def facts(value: Ranged) -> tuple[int, int, Fraction, Fraction]:
    return value.low, value.high, value.step, value.rounding


def test_no_range_reaches_62_bits() -> None:
    for low, high in ((0, ROOM - 1), (1 - ROOM, 0), (1 - ROOM, ROOM - 1)):
        assert (number(low, high).low, number(low, high).high) == (low, high)
    for low, high in ((0, ROOM), (-ROOM, 0), (-ROOM, 5)):
        with pytest.raises(InvalidValue, match="can grow beyond 62 bits; narrow the bounds"):
            number(low, high)


def test_room_is_62_bits() -> None:
    assert ROOM == 2**62


def test_a_constant_is_exact() -> None:
    assert Ranged.constant(Fraction(-7, 3)) == Ranged(WholeSteps(-7), -7, -7, THIRD)
    assert Ranged.constant(Fraction(5)) == Ranged(WholeSteps(5), 5, 5, Fraction(1))


def test_a_sum_adds_ranges_and_roundings_in_one_step() -> None:
    one = number(-2, 3, HALF, Fraction(1, 8))
    found = one + Ranged(Y, 1, 4, THIRD, Fraction(1, 16))
    # in sixths, x is 3 steps of its own and y is 2
    assert facts(found) == (-2 * 3 + 1 * 2, 3 * 3 + 4 * 2, Fraction(1, 6), Fraction(3, 16))
    assert found.steps == SumSteps(
        ProductSteps(WholeSteps(3), X), ProductSteps(WholeSteps(2), Y)
    )


def test_a_difference_turns_the_range_around() -> None:
    found = number(-2, 3) - Ranged(Y, 1, 4, Fraction(1), HALF)
    assert facts(found) == (-2 - 4, 3 - 1, Fraction(1), HALF)


@pytest.mark.parametrize(
    ("one", "other", "ends"),
    [
        ((2, 3), (4, 5), (8, 15)),
        ((-2, 3), (4, 5), (-10, 15)),
        ((-2, 3), (-5, 4), (-15, 12)),
        ((-3, -2), (-5, -4), (8, 15)),
        ((-3, 2), (0, 0), (0, 0)),
        ((-3, 2), (-1, 7), (-21, 14)),
    ],
)
def test_a_product_reaches_from_its_least_to_its_greatest_corner(
    one: tuple[int, int], other: tuple[int, int], ends: tuple[int, int]
) -> None:
    found = number(*one, HALF) * Ranged(Y, *other, THIRD)
    assert facts(found) == (*ends, Fraction(1, 6), Fraction(0))
    assert found.steps == ProductSteps(X, Y)


def test_the_rounding_of_a_product_has_a_term_of_second_order() -> None:
    one = number(-4, 2, HALF, Fraction(1, 4))  # up to 2 from 0, known to a quarter
    other = Ranged(Y, 0, 9, THIRD, Fraction(1, 6))  # up to 3 from 0, known to a sixth
    assert (one.size, other.size) == (2, 3)
    first_order = 2 * Fraction(1, 6) + 3 * Fraction(1, 4)
    assert (one * other).rounding == first_order + Fraction(1, 4) * Fraction(1, 6)
    # the lie: without that term, two numbers at their ends are farther off than is said
    truth = (one.size + one.rounding) * (other.size + other.rounding)
    assert truth - one.size * other.size == (one * other).rounding > first_order


@given(
    st.integers(-20, 20),
    st.integers(-20, 20),
    st.fractions(0, 1),
    st.fractions(0, 1),
)
def test_no_product_is_farther_off_than_its_rounding(
    x: int, y: int, one: Fraction, other: Fraction
) -> None:
    low, high = sorted((x, -x))
    lower, upper = sorted((y, -y))
    product = Ranged(X, low, high, HALF, one) * Ranged(Y, lower, upper, THIRD, other)
    off = (x * HALF + one) * (y * THIRD + other) - x * HALF * y * THIRD
    assert abs(off) <= product.rounding


def test_the_size_of_a_number_is_how_far_it_lies_from_0() -> None:
    assert number(-7, 3, HALF).size == Fraction(7, 2)
    assert number(-3, 7, HALF).size == Fraction(7, 2)


def test_a_number_counted_from_a_start() -> None:
    found = number(10, 20, HALF, THIRD).above(12)
    assert facts(found) == (-2, 8, HALF, THIRD)
    assert found.steps == SumSteps(X, WholeSteps(-12))


def test_halving_rounds_to_the_nearest() -> None:
    found = number(0, 13, HALF, THIRD).coarsen(2)
    assert facts(found) == (0, 3, Fraction(2), THIRD + 2 * HALF)
    assert found.steps == HalvedSteps(SumSteps(X, WholeSteps(2)), 2)
    assert [evaluated(found.steps, {"x": x}) for x in range(14)] == [
        0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3,
    ]  # fmt: skip


def test_halving_no_times_changes_nothing() -> None:
    value = number(0, 13)
    assert value.coarsen(0) is value


@given(st.integers(0, 10**6), st.integers(1, 12), st.data())
def test_a_halved_number_stays_in_its_range_and_near_itself(
    high: int, times: int, data: st.DataObject
) -> None:
    found = number(0, high).coarsen(times)
    x = data.draw(st.integers(0, high))
    steps = evaluated(found.steps, {"x": x})
    assert steps is not None
    assert found.low <= steps <= found.high
    assert abs(steps * found.step - x) <= found.rounding


def test_smaller_steps_are_more_of_them() -> None:
    found = number(-1, 2, HALF, THIRD).refine(Fraction(1, 6))
    assert facts(found) == (-3, 6, Fraction(1, 6), THIRD)
    assert found.steps == ProductSteps(WholeSteps(3), X)
    same = number(-1, 2, HALF)
    assert same.refine(HALF) is same
    whole = Ranged.constant(HALF).refine(Fraction(1, 8))
    assert whole == Ranged(WholeSteps(4), 4, 4, Fraction(1, 8))
    null = Ranged(WholeSteps(None), 0, 0, Fraction(1)).refine(HALF)
    assert null == Ranged(WholeSteps(None), 0, 0, HALF)


@pytest.mark.parametrize(
    ("steps", "one"),
    [
        ((HALF, THIRD), Fraction(1, 6)),
        ((Fraction(2), Fraction(3)), Fraction(1)),
        ((Fraction(4), Fraction(6)), Fraction(2)),
        ((Fraction(1, 100), Fraction(1)), Fraction(1, 100)),
        ((Fraction(2, 3), Fraction(4, 5)), Fraction(2, 15)),
    ],
)
def test_one_step_is_the_greatest_that_all_are_multiples_of(
    steps: tuple[Fraction, ...], one: Fraction
) -> None:
    found = in_one_step([number(0, 1, step) for step in steps])
    assert {value.step for value in found} == {one}
    assert [value.high * value.step for value in found] == list(steps)


def test_a_short_range_of_whole_numbers_has_a_key_for_each() -> None:
    short = ComputedColumn.of("below.n", number(-1, MOST_KEYS - 2))
    assert short.kind is Kind.INTEGER
    assert short.keys is not None
    assert short.keys.values == tuple(range(-1, MOST_KEYS - 1))
    long = ComputedColumn.of("below.n", number(-1, MOST_KEYS - 1))
    assert long.keys is None
    assert MOST_KEYS == 200


@pytest.mark.parametrize(
    ("value", "kind", "step"),
    [
        (number(0, 3), Kind.INTEGER, None),
        (number(0, 3, HALF), Kind.DECIMAL, HALF),
        (number(0, 3, Fraction(2)), Kind.DECIMAL, Fraction(2)),
        (number(0, 3, Fraction(1), HALF), Kind.FLOAT, None),
        (number(0, 3, HALF, HALF), Kind.FLOAT, None),
    ],
)
def test_the_kind_of_a_number_of_units_follows_from_its_steps(
    value: Ranged, kind: Kind, step: Fraction | None
) -> None:
    held = ComputedColumn.of("below.n", value)
    assert (held.name, held.kind, held.step, held.value) == ("below.n", kind, step, value)
    if kind is not Kind.INTEGER:
        assert held.keys is None
