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
SMALL = LaplaceKeys(Fraction(5), DELTA, max_keys=1)
"""Its noise is above 0 in fewer than 2.5% of all draws."""
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


def test_noise_that_is_mostly_nothing_leaves_the_count_alone() -> None:
    kept = selected_count_interval(SMALL, CONFIDENCE)
    assert kept is not None
    assert kept.law.tail(1) < Fraction(1, 40)
    assert kept.interval(SMALL.threshold + 2) == (SMALL.threshold + 2, SMALL.threshold + 2)
    assert kept.interval(1000) == (1000, 1000)


@pytest.mark.parametrize("mechanism", [LAPLACE, TRUNCATED, GAUSSIAN, SMALL])
def test_the_lower_end_is_the_least_size_that_explains_the_count(mechanism: Mechanism) -> None:
    """A size explains a count that it reaches or passes in 2.5% of its releases, or more."""
    kept = selected_count_interval(mechanism, CONFIDENCE)
    assert kept is not None
    law = kept.law
    stride = max(1, kept.interval(10**6)[1] - 10**6) // 10 or 1
    for part in range(60):
        released = law.threshold + part * stride
        low, high = kept.interval(released)
        explains = [
            units >= released or law.tail(released - units) > law.passes(units) / 40
            for units in (low - 1, low)
        ]
        assert explains == [False, True] or (low == 1 and explains[1])
        assert law.tail(high - released + 1) <= Fraction(1, 40)
        assert high == released or law.tail(high - released) > Fraction(1, 40)


def test_between_two_computed_counts_the_lower_end_is_that_of_the_smaller() -> None:
    wide = selected_count_interval(LaplaceKeys(Fraction(1), DELTA, max_keys=40), CONFIDENCE)
    assert wide is not None
    threshold, reach = wide.law.threshold, wide.interval(10**6)[1] - 10**6
    stride = reach // 10
    assert stride > 2
    lows = [wide.interval(threshold + more)[0] for more in range(20 * stride)]
    assert lows == [lows[place - place % stride] for place in range(len(lows))]
    assert wide.interval(threshold - 1)[0] == wide.interval(threshold)[0] == 1
    far = threshold + 10**6
    assert wide.interval(far) == (far - reach, far + reach)
    assert wide.interval(far + 1) == (far + 1 - reach, far + 1 + reach)
