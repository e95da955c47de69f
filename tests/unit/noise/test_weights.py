from fractions import Fraction
from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.noise.inversion import Bell, Decay, LaplaceSign, TwoSidedBell, Weights

PRECISION = 80
scales = st.fractions(Fraction(1, 4), 8, max_denominator=20)


def exp_minus(x: Fraction) -> Fraction:
    return sum(((-x) ** n / factorial(n) for n in range(250)), Fraction(0))


def holds(weights: Weights, place: int, weight: Fraction, widened: int = 0) -> bool:
    scaled = weight * 2**PRECISION
    return weights.lower[place] + widened <= scaled <= weights.upper[place] + widened


@given(scales, st.integers(0, 10))
def test_decay_holds_its_weights(scale: Fraction, place: int) -> None:
    weights = Decay(scale, size=11).weights(PRECISION)
    weight = exp_minus(place / scale)
    assert holds(weights, place, weight)
    gap = weights.upper[place] - weights.lower[place] + 1
    assert not holds(weights, place, weight, widened=gap)


@given(scales)
def test_what_decay_leaves_out_is_bounded(scale: Fraction) -> None:
    weights = Decay(scale).weights(PRECISION)
    q = exp_minus(1 / scale)
    left_out = 1 / (1 - q) * 2**PRECISION - sum(weights.upper)
    assert left_out <= weights.rest


@given(scales, st.integers(0, 4))
def test_bells_hold_their_weights(scale: Fraction, place: int) -> None:
    variance = scale**2 + 1
    weight = exp_minus(place**2 / (2 * variance))
    side = Bell(variance).weights(PRECISION)
    both = TwoSidedBell(variance).weights(PRECISION)
    assert holds(side, place, weight)
    assert holds(both, 2 * place, weight)
    assert holds(both, max(0, 2 * place - 1), weight)
    assert both.rest == 2 * side.rest


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5)])
def test_the_sign_of_laplace_is_symmetric(scale: Fraction) -> None:
    weights = LaplaceSign(scale).weights(PRECISION)
    assert weights.lower[0] == weights.lower[2]
    assert holds(weights, 1, 1 - exp_minus(1 / scale))
