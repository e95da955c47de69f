from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from tacit.core.secret import Secret
from tacit.errors import InvalidValue
from tacit.lab.selection import ChoosePoint, IntervalExponential
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.gateway import LiveGateway
from tacit.noise.inversion import thresholds
from tacit.numeric.entropy import SystemEntropy
from tacit.numeric.exact_numbers import exp_bounds
from tacit.testing.entropy import enumerate_law
from tacit.testing.mechanism_contract import linf

WIDTHS = (8, 1, 3)


def pmf(rate: float, scores: list[int], widths: tuple[int, ...]) -> np.ndarray:
    weights = np.repeat(np.exp(rate * np.array(scores)), widths)
    return weights / weights.sum()


def draws(mechanism: IntervalExponential, scores: list[int], count: int) -> np.ndarray:
    gateway, secret = LiveGateway(SystemEntropy(b"charge")), Secret(np.array(scores))
    return np.array([mechanism.release(secret, linf(1), gateway)[0] for _ in range(count)])


def test_frequencies_of_the_points_are_the_exact_probabilities() -> None:
    scores, count = [0, 6, 2], 20_000
    drawn = draws(IntervalExponential(Fraction(1, 2), WIDTHS), scores, count)
    found = np.bincount(drawn, minlength=12)
    assert chisquare(found, pmf(0.5, scores, WIDTHS) * count).pvalue > 1e-6
    assert chisquare(found, pmf(0.5 * 1.1, scores, WIDTHS) * count).pvalue < 1e-6
    without_widths = np.repeat(pmf(0.5, scores, (1, 1, 1)) / WIDTHS, WIDTHS)
    assert chisquare(found, without_widths * count).pvalue < 1e-6


def test_every_script_of_narrow_words_is_drawn_by_the_law() -> None:
    draw = ChoosePoint(Fraction(1), (1, 2))
    found = enumerate_law(lambda entropy: int(draw(np.array([0, 1]), entropy)[0]), 4, 4)
    assert found.undecided < Fraction(1, 1000)
    weight = exp_bounds(Fraction(1))[0]
    for point, true in enumerate([1 / (1 + 2 * weight), *[weight / (1 + 2 * weight)] * 2]):
        tiny = Fraction(1, 10**40)
        assert found.allows(point, true - tiny, true + tiny)
        assert not found.allows(point, true * Fraction("1.01"), true * Fraction("1.01"))


def test_a_wide_cell_far_below_holds_its_own_against_a_narrow_one() -> None:
    # 2**61 * exp(-42) is about 1.3: neither cell can be left out
    widths, scores = (1, 2**61), [42, 0]
    drawn = draws(IntervalExponential(Fraction(1), widths), scores, 4000)
    share = float(1 / (1 + 2**61 * exp_bounds(Fraction(-42))[0]))
    error = 5 * np.sqrt(share * (1 - share) / 4000)
    assert abs(np.mean(drawn == 0) - share) < error
    assert error < abs(share - 1 / 2**61)  # what widths alone would give


def test_the_shortfall_is_below_its_bound_and_not_half_of_it() -> None:
    mechanism = IntervalExponential(Fraction(1, 2), (1, 10**6))
    bound = int(mechanism.error(Fraction("0.95")))
    for gap, kept in [(bound + 1, True), (bound // 2, False)]:
        best = 1 / (1 + 10**6 * np.exp(-0.5 * gap))
        assert bool(best >= 0.95) is kept


def test_the_event_is_that_of_the_exponential_mechanism() -> None:
    for monotone in (False, True):
        mechanism = IntervalExponential(Fraction(1, 3), WIDTHS, monotone=monotone)
        plain = Exponential(Fraction(1, 3), 3, monotone=monotone)
        assert mechanism.event(linf(2)) == plain.event(linf(2))


def test_nothing_of_the_scores_is_kept() -> None:
    mechanism = IntervalExponential(Fraction(1, 3), WIDTHS)
    draws(mechanism, [0, 1, 2], 1)
    kept = thresholds.cache_info().currsize
    for score in range(50):
        draws(mechanism, [0, 1, score], 1)
    assert thresholds.cache_info().currsize == kept


@pytest.mark.parametrize("widths", [(), (1, 0), (1, -1), (2**61, 2**61, 1)])
def test_what_is_no_grid_is_refused(widths: tuple[int, ...]) -> None:
    with pytest.raises(InvalidValue):
        IntervalExponential(Fraction(1), widths)


def test_another_number_of_scores_is_refused() -> None:
    with pytest.raises(InvalidValue, match="batch of 3 values"):
        draws(IntervalExponential(Fraction(1), WIDTHS), [0, 1], 1)
