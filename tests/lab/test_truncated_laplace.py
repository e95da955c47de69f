from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.event import TruncatedLaplaceNoiseV2
from tacit.core.secret import Secret
from tacit.errors import InvalidValue
from tacit.lab.propose_test_release import TruncatedLaplace
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.mechanism_contract import hockey_stick_of, l1, l2

GATEWAY = LiveGateway(SystemEntropy(b"unit"))


def law(secret: int, scale: float, reach: int) -> dict[tuple[int, ...], float]:
    weights = {(secret + y,): exp(-abs(y) / scale) for y in range(-reach, reach + 1)}
    return {release: weight / sum(weights.values()) for release, weight in weights.items()}


def within(size: int, scale: float, reach: int) -> float:
    return sum(p for (y,), p in law(0, scale, reach).items() if abs(y) <= size)


@given(
    st.fractions(Fraction(1, 4), 40, max_denominator=9),
    st.integers(0, 60),
    st.fractions(0, 1, max_denominator=97),
)
def test_the_error_is_the_least_that_suffices(
    scale: Fraction, reach: int, confidence: Fraction
) -> None:
    error = int(TruncatedLaplace(scale, reach).error(confidence))
    assert 0 <= error <= reach
    assert within(error, float(scale), reach) >= confidence - 1e-12
    assert error == 0 or within(error - 1, float(scale), reach) < confidence + 1e-12


@pytest.mark.parametrize("scale", [Fraction(1, 10**6), Fraction(3), Fraction(10**6)])
def test_the_reach_is_certain(scale: Fraction) -> None:
    assert TruncatedLaplace(scale, 20).error(Fraction(1)) == 20


def test_what_the_neighbour_cannot_follow_is_the_delta() -> None:
    scale, reach = 2.0, 9
    edge = law(0, scale, reach)[reach,]
    delta = hockey_stick_of(law(0, scale, reach), law(1, scale, reach))
    assert delta(1 / scale) == pytest.approx(edge, rel=1e-9)
    assert delta(0.9 / scale) > 2 * edge
    moved_by_two = hockey_stick_of(law(0, scale, reach), law(2, scale, reach))
    assert moved_by_two(1 / scale) > 2 * edge


def test_a_release_stays_within_reach() -> None:
    mechanism = TruncatedLaplace(Fraction(5), 3)
    secret = Secret(np.array([40]))
    released = {int(mechanism.release(secret, l1(1), GATEWAY)[0]) for _ in range(500)}
    assert released == set(range(37, 44))


def test_the_event_tells_scale_and_reach() -> None:
    event = TruncatedLaplace(Fraction(5), 30).event(l1(2))
    assert event == TruncatedLaplaceNoiseV2(Fraction(2), Fraction(5), 30)


def test_two_integers_or_another_norm_are_refused() -> None:
    mechanism = TruncatedLaplace(Fraction(5), 30)
    with pytest.raises(InvalidValue, match="a vector of 1 integers"):
        mechanism.release(Secret(np.array([1, 2])), l1(1), GATEWAY)
    with pytest.raises(InvalidValue, match="L1 is needed"):
        mechanism.release(Secret(np.array([1])), l2(1), GATEWAY)


@pytest.mark.parametrize("wrong", [Fraction(-1, 9), Fraction(10, 9)])
def test_a_confidence_is_a_probability(wrong: Fraction) -> None:
    with pytest.raises(InvalidValue, match="between 0 and 1"):
        TruncatedLaplace(Fraction(5), 30).error(wrong)
