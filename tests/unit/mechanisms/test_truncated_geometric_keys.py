from fractions import Fraction
from math import exp

import numpy as np
import pytest

from tacit.mechanisms.optimal_keys import TruncatedGeometricKeys

PAIRS = [(1.0, 1e-6), (0.1, 1e-6), (0.5, 1e-5), (2.0, 1e-9), (0.05, 1e-4), (3.0, 0.01)]
KEYS = TruncatedGeometricKeys(Fraction(1), Fraction(1, 10**6), max_keys=1)


def last(epsilon: float, reach: int) -> float:
    """The probability of the greatest noise."""
    weights = np.exp(-epsilon * np.arange(reach + 1))
    return float(weights[-1] / (2 * weights.sum() - 1))


def law(units: int, reach: int) -> dict[int, float]:
    """Of what is released, at epsilon 1."""
    whole = sum(exp(-abs(y)) for y in range(-reach, reach + 1))
    mass = {units + y: exp(-abs(y)) / whole for y in range(-reach, reach + 1)}
    kept = {noisy: mass[noisy] for noisy in mass if noisy > reach}
    return kept | {0: sum(mass[noisy] for noisy in mass if noisy <= reach)}


def joint_delta(reach: int) -> float:
    """The greatest delta at epsilon 1 of key and count together, for 0 to 50 units."""
    found = []
    for units in range(51):
        pair = law(units, reach), law(units + 1, reach)
        for left, right in (pair, pair[::-1]):
            over = (left[place] - exp(1) * right.get(place, 0.0) for place in left)
            found.append(sum(excess for excess in over if excess > 1e-15))
    return max(found)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_the_reach_is_the_least_that_is_rare_enough(epsilon: float, delta: float) -> None:
    keys = TruncatedGeometricKeys(Fraction(str(epsilon)), Fraction(str(delta)), max_keys=1)
    assert last(epsilon, keys.reach) <= delta < last(epsilon, keys.reach - 1)


def test_the_reach_at_one_and_a_millionth_is_14() -> None:
    assert KEYS.reach == 14


def test_key_and_count_together_lose_one_epsilon_and_delta() -> None:
    assert joint_delta(14) == pytest.approx(0.384e-6, rel=2e-3)
    assert joint_delta(14) == pytest.approx(last(1, 14))
    assert joint_delta(13) > 1e-6


def test_one_unit_is_published_less_than_once_in_a_million() -> None:
    assert 1 - law(1, KEYS.reach)[0] <= 1e-6
    assert 1 - law(2, KEYS.reach)[0] > 1e-6


def test_the_half_point_is_15_units() -> None:
    shown = [1 - law(units, KEYS.reach)[0] for units in (14, 15)]
    assert shown == pytest.approx([0.269, 0.731], abs=5e-4)


def test_keys_of_a_unit_share_epsilon_and_delta() -> None:
    many = TruncatedGeometricKeys(Fraction(4), Fraction(4, 10**6), max_keys=4)
    assert (many.reach, many.error(Fraction(1, 2))) == (14, KEYS.error(Fraction(1, 2)))
