"""Randomised answers have their law, and their estimates the precision that is claimed."""

from fractions import Fraction

import numpy as np
import pytest
from conftest import Bar
from scipy.stats import chisquare

from tacit.core.secret import Secret
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.randomised_response import RandomisedResponse
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.mechanism_contract import linf

COIN = RandomisedResponse(Fraction(2, 3), choices=2)


RUNS, PEOPLE = 40_000, 1000


def told(mechanism: RandomisedResponse, answers: np.ndarray) -> np.ndarray:
    gateway = LiveGateway(SystemEntropy(b"charge"))
    return mechanism.release(Secret(answers), linf(1), gateway)


@pytest.mark.claim
def test_the_estimate_is_unbiased_and_as_precise_as_claimed(bar: Bar) -> None:
    truth = np.arange(PEOPLE) < 300
    shares = []
    for _ in range(RUNS // 1000):
        batch = told(COIN, np.tile(truth, 1000).astype(np.int64)).reshape(1000, PEOPLE)
        shares.append(3 * batch.mean(axis=1) - 1)
    found = np.concatenate(shares)
    assert COIN.estimate(batch[0]).counts[1] == 3 * int(batch[0].sum()) - PEOPLE
    bias, spread = abs(found.mean() - 0.3), found.std() / 0.0447
    bar("T16 truth 2/3, 1000 people, bias of the share", bias, "< 0.001", bias < 0.001)
    bar("T16 spread beside 0.0447", spread, "within 2%", abs(spread - 1) < 0.02)
    # what was told, taken as the truth, is far off
    assert abs((found.mean() + 1) / 3 - 0.3) > 0.1


@pytest.mark.parametrize(("truth", "choices"), [(Fraction(2, 3), 2), (Fraction(1, 2), 5)])
def test_answers_are_told_with_the_exact_probabilities(truth: Fraction, choices: int) -> None:
    mechanism, count = RandomisedResponse(truth, choices), 200_000
    found = np.bincount(told(mechanism, np.full(count, 1)), minlength=choices)

    def wanted(true: float) -> np.ndarray:
        law = np.full(choices, (1 - true) / (choices - 1))
        law[1] = true
        return law * count

    assert chisquare(found, wanted(float(truth))).pvalue > 1e-6
    assert chisquare(found, wanted(float(truth) * 0.95)).pvalue < 1e-6


def test_the_standard_error_is_that_of_many_runs() -> None:
    mechanism = RandomisedResponse(Fraction(1, 2), 3)
    answers = np.repeat([0, 1, 2], [700, 200, 100])
    runs = [mechanism.estimate(told(mechanism, answers)) for _ in range(3000)]
    measured = np.std([[float(count) for count in run.counts] for run in runs], axis=0)
    claimed = np.mean([run.standard_errors for run in runs], axis=0)
    assert np.all(abs(measured / claimed - 1) < 0.06)
