from dataclasses import dataclass
from fractions import Fraction
from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.noise.inversion import (
    Bell,
    Categorical,
    Decay,
    LaplaceSign,
    Law,
    TwoSidedBell,
    Weights,
    thresholds,
)

BITS = 64


def exp_minus(x: Fraction) -> Fraction:
    return sum(((-x) ** n / factorial(n) for n in range(250)), Fraction(0))


def cumulated(weights: list[Fraction]) -> list[Fraction]:
    total = sum(weights, Fraction(0))
    return [sum(weights[: k + 1], Fraction(0)) / total for k in range(len(weights))]


def floors(cumulative: list[Fraction]) -> list[int]:
    return [int(2**BITS * value) for value in cumulative]


DECAY = [exp_minus(Fraction(k, 2)) for k in range(40)]
FEW = 4


@pytest.mark.parametrize(
    ("law", "cumulative"),
    [
        (Categorical((2, 3, 5)), [Fraction(1, 5), Fraction(1, 2)]),
        (LaplaceSign(Fraction(2)), cumulated([DECAY[1], 1 - DECAY[1], DECAY[1]])[:2]),
        (Decay(Fraction(2), size=5), cumulated(DECAY[:5])[:4]),
        (Decay(Fraction(2)), [1 - DECAY[k + 1] for k in range(FEW)]),
    ],
)
def test_thresholds_are_the_floors_of_the_exact_law(
    law: Law, cumulative: list[Fraction]
) -> None:
    assert list(thresholds(law, BITS)[: len(cumulative)]) == floors(cumulative)


def test_a_bell_is_summed_to_its_end() -> None:
    variance = Fraction(3)
    weights = [exp_minus(Fraction(k * k, 6)) for k in range(17)]  # exp(-17**2 / 6) < 2**-69
    expected = cumulated(weights)
    found = thresholds(Bell(variance), BITS)
    assert all(abs(found[k] - int(2**BITS * expected[k])) <= 1 for k in range(8))
    two_sided = cumulated([weights[0], *(w for w in weights[1:] for _ in range(2))])
    found = thresholds(TwoSidedBell(variance), BITS)
    assert all(abs(found[k] - int(2**BITS * two_sided[k])) <= 1 for k in range(15))


@given(st.fractions(Fraction(1, 50), 40), st.integers(8, 130))
def test_thresholds_rise_and_end_where_longer_words_must_decide(
    scale: Fraction, bits: int
) -> None:
    found = thresholds(Decay(scale), bits)
    assert list(found) == sorted(found)
    assert found[-1] == 2**bits - 1
    assert found[:-1] == () or found[-2] < 2**bits - 1


@given(st.fractions(Fraction(1, 50), 40))
def test_longer_thresholds_begin_with_the_shorter_ones(scale: Fraction) -> None:
    short, long = thresholds(Decay(scale), 32), thresholds(Decay(scale), 64)
    assert [threshold >> 32 for threshold in long[: len(short)]] == list(short)


@dataclass(frozen=True)
class Blurred:
    """A fair coin whose weights are known only from 200 bits on."""

    def weights(self, precision: int) -> Weights:
        blur = 2**precision // 3 if precision < 200 else 0
        return Weights((2**precision - blur,) * 2, (2**precision + blur,) * 2)


def test_precision_is_raised_until_the_threshold_is_certain() -> None:
    assert thresholds(Blurred(), BITS) == (2**63,)


def test_a_law_that_hardly_ever_moves_needs_no_precision() -> None:
    assert thresholds(Decay(Fraction(1, 10**9)), BITS) == (2**BITS - 1,)
    assert thresholds(LaplaceSign(Fraction(1, 10**9)), BITS) == (0, 2**BITS - 1)
