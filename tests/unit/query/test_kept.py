"""Of every group that is released, the interval holds its size as often as it says."""

from fractions import Fraction

import numpy as np
import pytest

from tacit.mechanisms.additive_noise import Laplace
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.optimal_keys import TruncatedGeometricKeys
from tacit.mechanisms.threshold_keys import GaussianKeys, LaplaceKeys
from tacit.query.selected_count import SelectedCountInterval, selected_count_interval

CONFIDENCE = Fraction(19, 20)
DELTA = Fraction(1, 10**6)
LAPLACE = LaplaceKeys(Fraction(1), DELTA, max_keys=8)
TRUNCATED = TruncatedGeometricKeys(Fraction(1), DELTA, max_keys=1)
GAUSSIAN = GaussianKeys(Fraction(20), DELTA, max_keys=3)
NOISES = np.arange(-600, 601)
LAWS: list[tuple[Mechanism, np.ndarray, int]] = [
    (LAPLACE, np.exp(-abs(NOISES) / 8), LAPLACE.threshold),
    (
        TRUNCATED,
        np.where(abs(NOISES) <= TRUNCATED.reach, np.exp(-abs(NOISES)), 0),
        TRUNCATED.reach + 1,
    ),
    (GAUSSIAN, np.exp(-(NOISES**2) / 40), GAUSSIAN.threshold),
]


def coverage(
    kept: SelectedCountInterval, weights: np.ndarray, threshold: int, units: int
) -> float:
    """Among the releases of a group of so many units, how often the interval holds it."""
    released = [noise + units for noise in NOISES]
    shown = [
        weight if each >= threshold else 0
        for each, weight in zip(released, weights, strict=True)
    ]
    ends = [kept.interval(int(each)) for each in released]
    held = [low <= units <= high for low, high in ends]
    return float(np.dot(shown, held) / sum(shown))


@pytest.mark.parametrize(("mechanism", "weights", "threshold"), LAWS)
def test_every_size_is_held_given_that_it_is_released(
    mechanism: Mechanism, weights: np.ndarray, threshold: int
) -> None:
    kept = selected_count_interval(mechanism, CONFIDENCE)
    assert kept is not None
    assert kept.law.threshold == threshold
    found = [coverage(kept, weights, threshold, units) for units in (*range(1, 250, 3), 300)]
    assert min(found) >= 0.95 - 1e-9


@pytest.mark.parametrize(("mechanism", "weights", "threshold"), LAWS)
def test_noise_that_is_taken_for_symmetric_misses_what_hardly_passed(
    mechanism: Mechanism, weights: np.ndarray, threshold: int
) -> None:
    class Symmetric(SelectedCountInterval):
        def interval(self, released: int) -> tuple[int, int]:
            return released - self._above, released + self._above

    honest = selected_count_interval(mechanism, CONFIDENCE)
    assert honest is not None
    lie = Symmetric(honest.law, CONFIDENCE)
    assert coverage(lie, weights, threshold, threshold // 2) < 0.9


@pytest.mark.parametrize(("mechanism", "weights", "threshold"), LAWS)
def test_a_great_group_has_the_interval_of_its_noise(
    mechanism: Mechanism, weights: np.ndarray, threshold: int
) -> None:
    kept = selected_count_interval(mechanism, CONFIDENCE)
    assert kept is not None
    chances = weights / weights.sum()
    reach = next(r for r in range(600) if chances[r < NOISES].sum() <= 0.025)
    assert kept.interval(10**6) == (10**6 - reach, 10**6 + reach)
    assert 2 * reach < mechanism.error(CONFIDENCE) + threshold


def test_a_group_that_hardly_passed_may_be_of_one_unit() -> None:
    kept = selected_count_interval(LAPLACE, CONFIDENCE)
    assert kept is not None
    assert kept.interval(LAPLACE.threshold)[0] == 1


def test_what_selects_nothing_has_no_such_intervals() -> None:
    assert selected_count_interval(Laplace(Fraction(1)), CONFIDENCE) is None
