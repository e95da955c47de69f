"""Units show as often as a selection of keys allows, and no tenth more."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from key_laws import DELTA, LAWS, Keys, counted_once, keys, noise
from scipy.stats import binomtest

from tacit.audit.replay import RecordingGateway
from tacit.core.secret import Secret
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.threshold_keys import KeepAbove
from tacit.noise.gaussian import DiscreteGaussian
from tacit.numeric.entropy import SystemEntropy

ODD = 1e-6


UNITS = {1: 10**6, 3: 500_000, 10: 500_000}


def single(law: str, max_keys: int) -> float:
    """The probability that a key of one unit is released."""
    share = float(DELTA) / max_keys
    if law == "optimal":
        return share
    if law == "gaussian":
        share = 1 - (1 - float(DELTA)) ** (1 / max_keys)
    mass = noise(law, max_keys)
    tails = [sum(mass[y] for y in mass if y >= size) for size in range(1, 200)]
    return next(tail for tail in tails if tail <= share)


def showing(mechanism: Keys, units: int) -> int:
    """How many units, each alone in all its keys, have any key released."""
    secret = Secret(np.ones(units * mechanism.max_keys, dtype=np.int64))
    gateway = LiveGateway(SystemEntropy(b"test"))
    released = mechanism.release(secret, counted_once(mechanism.max_keys), gateway)
    return int((released > 0).reshape(units, -1).any(axis=1).sum())


@pytest.mark.parametrize("max_keys", UNITS)
@pytest.mark.parametrize("law", LAWS)
def test_units_show_as_often_as_they_should_and_no_tenth_more(law: str, max_keys: int) -> None:
    units = UNITS[max_keys]
    exact = 1 - (1 - single(law, max_keys)) ** max_keys
    found = showing(keys(law, max_keys), units)
    assert exact <= float(DELTA) * (1 + 1e-12)
    assert binomtest(found, units, exact).pvalue > ODD
    assert binomtest(round(found * 1.1), units, exact).pvalue < ODD
    assert binomtest(found, units, exact * 1.1).pvalue < ODD


def test_a_delta_a_tenth_higher_is_noticed() -> None:
    found = showing(keys("optimal", 1, delta=DELTA * Fraction(11, 10)), 10**6)
    assert binomtest(found, 10**6, float(DELTA)).pvalue < ODD


def draw_of(mechanism: Keys) -> KeepAbove:
    gateway = RecordingGateway(SystemEntropy(b"test"))
    mechanism.release(Secret(np.array([1])), counted_once(1), gateway)
    draw = gateway.calls[0].draw
    assert isinstance(draw, KeepAbove)
    return draw


@pytest.mark.parametrize("law", ["truncated", "laplace", "gaussian"])
def test_a_threshold_one_lower_shows_too_many(law: str) -> None:
    draw = draw_of(keys(law, 1))
    ones = np.ones(10**6, dtype=np.int64)
    for threshold, honest in ((draw.threshold, True), (draw.threshold - 1, False)):
        shown = int((replace(draw, threshold=threshold)(ones, SystemEntropy(b"")) > 0).sum())
        over = binomtest(shown, ones.size, float(DELTA), alternative="greater").pvalue
        assert (over > ODD) == honest


def test_the_threshold_of_another_law_shows_too_many() -> None:
    ones = np.ones(10**6, dtype=np.int64)
    wrong = KeepAbove(DiscreteGaussian(Fraction(16)), keys("laplace", 1).threshold)  # type: ignore[union-attr]
    shown = int((wrong(ones, SystemEntropy(b"test")) > 0).sum())
    assert binomtest(shown, ones.size, float(DELTA), alternative="greater").pvalue < ODD
