"""The exponential mechanism chooses as often as its law says."""

from fractions import Fraction

import numpy as np
from scipy.stats import chisquare

from tacit.core.secret import Secret
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.mechanism_contract import linf

ERRORS = -np.arange(200, 300, 10)
"""Scores of ten classifiers: 200 to 290 errors in 1000."""


def pmf(rate: float, scores: list[int]) -> np.ndarray:
    weights = np.exp(rate * (np.array(scores) - max(scores)))
    return weights / weights.sum()


def draws(mechanism: Exponential, scores: list[int], count: int) -> np.ndarray:
    gateway, secret = LiveGateway(SystemEntropy(b"charge")), Secret(np.array(scores))
    return np.array([mechanism.release(secret, linf(1), gateway)[0] for _ in range(count)])


def test_frequencies_of_five_candidates_are_the_exact_probabilities() -> None:
    scores, count = [0, 4, 0, 6, 0], 20_000
    found = np.bincount(draws(Exponential(Fraction(1, 2), 5), scores, count), minlength=5)
    assert chisquare(found, pmf(0.5, scores) * count).pvalue > 1e-6
    assert chisquare(found, pmf(0.5 * 1.1, scores) * count).pvalue < 1e-6


def test_the_best_of_ten_classifiers_is_chosen_as_often_as_claimed() -> None:
    mechanism = Exponential(Fraction(1, 4), candidates=10)
    assert mechanism.event(linf(1)).epsilon == Fraction(1, 2)
    assert abs(pmf(0.25, ERRORS.tolist())[0] - 0.918) < 0.0005
    assert abs(np.mean(draws(mechanism, ERRORS.tolist(), 60_000) == 0) - 0.918) < 0.005
    assert pmf(0.25 * 0.95, ERRORS.tolist())[0] < 0.918 - 0.005
