from dataclasses import replace
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core import event
from tacit.core.secret import Secret
from tacit.errors import InvalidValue
from tacit.lab.propose_test_release import ProposeTestRelease
from tacit.mechanisms.additive_noise import Laplace
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.mechanism_contract import Pmf, hockey_stick_of, l1, linf

RECIPE = ProposeTestRelease(Fraction(2), Fraction(1, 2), Fraction(1), Fraction(1, 1000))


def tail(epsilon: Fraction, above: int) -> float:
    q = exp(-epsilon)
    return q ** (above + 1) / (1 + q)


def law(recipe: ProposeTestRelease, value: int, distance: int) -> Pmf:
    test, scale = recipe.test_epsilon, float(recipe.bound / recipe.release_epsilon)
    gap = recipe.threshold - distance
    passed = tail(test, gap) if gap >= 0 else 1 - tail(test, -gap - 1)
    q = exp(-1 / scale)
    found = {(1, y): passed * (1 - q) / (1 + q) * q ** abs(y - value) for y in range(-150, 220)}
    return found | {(0, 0): 1 - passed}


@given(
    st.fractions(Fraction(1, 20), 3, max_denominator=100),
    st.fractions(Fraction(1, 10**9), Fraction(1, 3), max_denominator=10**9),
)
def test_the_threshold_is_the_least_that_keeps_delta(
    epsilon: Fraction, delta: Fraction
) -> None:
    threshold = replace(RECIPE, test_epsilon=epsilon, delta=delta).threshold
    assert tail(epsilon, threshold) <= delta * (1 + 1e-12)
    assert threshold == 0 or tail(epsilon, threshold - 1) > delta * (1 - 1e-12)


@pytest.mark.parametrize("distance", [0, 5, 12, 13, 14, 20])
def test_where_the_bound_holds_the_loss_is_the_sum_of_both_epsilons(distance: int) -> None:
    for other in (distance, distance + 1):
        stick = hockey_stick_of(law(RECIPE, 0, distance), law(RECIPE, 2, other))
        assert stick(1.5) < 1e-12
    stick = hockey_stick_of(law(RECIPE, 0, 20), law(RECIPE, 3, 20))
    assert stick(1.4) > 1e-3  # a value that moves by more than the bound shows, far from 0


def test_where_the_bound_fails_the_loss_is_delta() -> None:
    stick = hockey_stick_of(law(RECIPE, 0, 0), law(RECIPE, 60, 0))
    assert stick(0.0) <= RECIPE.delta
    assert stick(0.0) > RECIPE.delta / 2


def test_a_threshold_one_lower_breaks_delta() -> None:
    lower = tail(RECIPE.test_epsilon, RECIPE.threshold - 1)
    assert lower > RECIPE.delta >= tail(RECIPE.test_epsilon, RECIPE.threshold)


def test_a_release_far_from_any_bad_data_passes_and_one_at_it_does_not() -> None:
    gateway = LiveGateway(SystemEntropy(b"test"))
    near, far = (Secret(np.array([500, distance])) for distance in (0, 200))
    refused = [RECIPE.release(near, linf(1000), gateway).tolist() for _ in range(30)]
    passed = [RECIPE.release(far, linf(1000), gateway).tolist() for _ in range(30)]
    assert refused.count([0, 0]) >= 28
    assert all(ok == 1 and abs(value - 500) < 80 for ok, value in passed)


def test_the_event_and_the_error_are_those_of_its_parts() -> None:
    assert RECIPE.event(linf(10**6)) == event.ProposeTestReleaseEventV2(
        Fraction(1, 2), Fraction(1), Fraction(1, 1000)
    )
    wanted = Laplace(Fraction(2)).error(Fraction("0.9"))
    assert RECIPE.error(Fraction("0.9")) == wanted
    with pytest.raises(InvalidValue, match="LINF is needed"):
        RECIPE.event(l1(1))


@pytest.mark.parametrize("name", ["bound", "test_epsilon", "release_epsilon", "delta"])
def test_what_is_out_of_range_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue, match=name):
        replace(RECIPE, **{name: Fraction(0)})
    if name == "delta":
        with pytest.raises(InvalidValue, match="between 0 and 1"):
            replace(RECIPE, delta=Fraction(1))
