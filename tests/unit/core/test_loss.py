from dataclasses import FrozenInstanceError
from fractions import Fraction
from functools import reduce
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.loss import Loss, Measure
from tacit.errors import InvalidValue

AMOUNTS = st.fractions(min_value=0, max_value=100)
DELTAS = st.fractions(min_value=0, max_value=1)
LOSSES = st.builds(Loss.zcdp, AMOUNTS, DELTAS)


def test_ten_charges_of_a_tenth_fill_a_budget_of_one() -> None:
    charges = [Loss.pure(0.1)] * 10
    spent, budget = reduce(add, charges), Loss.pure(1)
    assert spent == budget
    assert spent <= budget
    assert not spent + Loss.pure(0.1) <= budget
    assert not spent + Loss.pure("1e-12") <= budget


def test_ten_floats_of_a_tenth_do_not_fill_a_budget_of_one() -> None:
    spent = reduce(add, [0.1] * 10)
    assert spent != 1.0
    assert spent + 1e-17 <= 1.0


@given(LOSSES, LOSSES, LOSSES)
def test_losses_add_up_in_any_order(a: Loss, b: Loss, c: Loss) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Loss.zcdp(0) == a
    assert a <= a + b


@given(LOSSES, st.integers(0, 12))
def test_a_multiple_is_a_repeated_sum(loss: Loss, times: int) -> None:
    assert loss * times == reduce(add, [loss] * times, Loss.zcdp(0))
    assert loss * times + Loss.zcdp("1e-9") != loss * times


@given(LOSSES, LOSSES)
def test_a_loss_fits_only_in_amount_and_in_delta(a: Loss, b: Loss) -> None:
    assert (a <= b) == (a.amount <= b.amount and a.delta <= b.delta)
    assert not Loss.zcdp(a.amount, a.delta + 1) <= Loss.zcdp(a.amount + b.amount, a.delta)
    assert not Loss.zcdp(a.amount + 1, a.delta) <= Loss.zcdp(a.amount, a.delta + b.delta)


def test_plain_numbers_enter_exactly() -> None:
    assert Loss.pure(0.1) == Loss(Measure.PURE, Fraction(1, 10))
    assert Loss.approximate("1/3", 1e-6).delta == Fraction(1, 10**6)
    assert Loss.zcdp(0.5) == Loss(Measure.ZCDP, Fraction(1, 2), Fraction(0))
    assert Loss(Measure.PURE, Fraction(0.1)) != Loss.pure(0.1)


def test_a_loss_prints_with_the_letter_of_its_measure() -> None:
    assert str(Loss.pure("0.10")) == "ε = 0.1"
    assert str(Loss.approximate(1, "1e-6")) == "ε = 1, δ = 0.000001"
    assert str(Loss.approximate(1, 0)) == "ε = 1"
    assert str(Loss.zcdp("1/3", "1e-9")) == "ρ = 1/3, δ = 0.000000001"


def test_each_measure_has_its_letter() -> None:
    assert {measure.name: measure.symbol for measure in Measure} == {
        "PURE": "ε",
        "APPROXIMATE": "ε",
        "ZCDP": "ρ",
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Loss.pure(1), Loss.zcdp(1)),
        (Loss.pure(1), Loss.approximate(1, 0)),
        (Loss.approximate(1, 0), Loss.zcdp(1)),
    ],
)
def test_losses_of_different_measures_do_not_meet(one: Loss, other: Loss) -> None:
    told = f"these are in {one.measure.value} and in {other.measure.value}"
    with pytest.raises(InvalidValue, match=told):
        one + other
    with pytest.raises(InvalidValue, match=told):
        assert one <= other


def test_a_loss_below_zero_is_refused_and_shown() -> None:
    with pytest.raises(InvalidValue, match=r"at least 0, but -0\.5 and 0 were"):
        Loss.zcdp(-0.5)
    with pytest.raises(InvalidValue, match=r"at least 0, but 1 and -0\.25 were"):
        Loss.approximate(1, -0.25)
    with pytest.raises(InvalidValue, match="at least 0, but -3 and 0 were"):
        Loss.pure(1) * -3


def test_a_pure_loss_has_no_delta() -> None:
    with pytest.raises(InvalidValue, match=r"no delta, but 0\.001 was given"):
        Loss(Measure.PURE, Fraction(1), Fraction(1, 1000))


def test_a_loss_is_frozen() -> None:
    loss = Loss.pure(1)
    with pytest.raises(FrozenInstanceError):
        loss.amount = Fraction(0)


@pytest.mark.parametrize("times", [0.1, 1.0])
def test_a_loss_is_not_multiplied_by_a_float(times: float) -> None:
    with pytest.raises((InvalidValue, TypeError)):
        Loss.pure(1) * times
