from fractions import Fraction
from math import exp

import pytest

from tacit.errors import InvalidValue
from tacit.mechanisms.threshold_keys import LEAST_EPSILON, LaplaceKeys

PAIRS = [(1.0, 1e-6), (0.1, 1e-6), (0.5, 1e-5), (2.0, 1e-9), (0.05, 1e-4), (3.0, 0.01)]


def tail(epsilon: float, size: int) -> float:
    return exp(-epsilon * size) / (1 + exp(-epsilon))


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_the_threshold_is_the_least_that_one_unit_seldom_reaches(
    epsilon: float, delta: float
) -> None:
    found = LaplaceKeys(Fraction(str(epsilon)), Fraction(str(delta)), max_keys=1).threshold
    assert tail(epsilon, found - 1) <= delta < tail(epsilon, found - 2)


def joint_delta(epsilon: float, threshold: int) -> float:
    """The greatest delta at epsilon of key and count together, for 0 to 50 units."""

    def law(units: int) -> dict[int, float]:
        share = (1 - exp(-epsilon)) / (1 + exp(-epsilon))
        mass = {noisy: share * exp(-epsilon * abs(noisy - units)) for noisy in range(-200, 300)}
        kept = {noisy: mass[noisy] for noisy in mass if noisy >= threshold and units > 0}
        return kept | {0: 1 - sum(kept.values())}

    found = []
    for units in range(51):
        pair = law(units), law(units + 1)
        for left, right in (pair, pair[::-1]):
            over = (left[place] - exp(epsilon) * right.get(place, 0.0) for place in left)
            found.append(sum(excess for excess in over if excess > 1e-14))
    return max(found)


def test_key_and_count_together_lose_one_epsilon_and_delta() -> None:
    threshold = LaplaceKeys(Fraction(1), Fraction(1, 1000), max_keys=1).threshold
    assert joint_delta(1.0, threshold) <= 1e-3 < joint_delta(1.0, threshold - 1)


def test_keys_of_a_unit_share_epsilon_and_delta() -> None:
    many = LaplaceKeys(Fraction(4), Fraction(4, 10**6), max_keys=4)
    assert many.threshold == LaplaceKeys(Fraction(1), Fraction(1, 10**6), 1).threshold


def test_one_unit_is_never_more_likely_than_not_to_show() -> None:
    assert LaplaceKeys(Fraction(1), Fraction(99, 100), max_keys=1).threshold == 2


def test_an_epsilon_too_small_for_its_bounds_is_refused() -> None:
    LaplaceKeys(LEAST_EPSILON * 5, Fraction(1, 10), max_keys=5)
    with pytest.raises(InvalidValue, match="epsilon"):
        LaplaceKeys(LEAST_EPSILON * 5, Fraction(1, 10), max_keys=6)
