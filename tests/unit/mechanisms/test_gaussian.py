from fractions import Fraction
from math import erf, exp, sqrt

import numpy as np
import pytest

from tacit.core.event import GaussianNoise
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.additive_noise import SUMMED_BELOW, Gaussian
from tacit.mechanisms.gateway import LiveGateway
from tacit.noise.gaussian import DiscreteGaussian
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.distribution import GaussianLaw, goodness
from tacit.testing.entropy import ScriptedEntropy
from tacit.testing.mechanism_contract import l1, l2

NEARLY = 1 - Fraction(1, 10**9)


def within(size: int, variance: float) -> float:
    weights = [exp(-(y**2) / (2 * variance)) for y in range(1, int(20 * sqrt(variance)) + 20)]
    return (1 + 2 * sum(weights[:size])) / (1 + 2 * sum(weights))


def test_the_event_keeps_the_square_of_an_irrational_sensitivity() -> None:
    root = Sensitivity(Fraction(2), Norm.L2, Rule("one person moves two groups by 1"))
    event = Gaussian(Fraction(9)).event(root)
    assert event == GaussianNoise(Fraction(2), Fraction(9))
    assert event != Gaussian(Fraction(9)).event(l2(1))


def test_a_sensitivity_in_another_norm_is_refused() -> None:
    gateway = LiveGateway(ScriptedEntropy([]))
    with pytest.raises(InvalidValue, match="L2 is needed"):
        Gaussian(Fraction(9)).event(l1(1))
    with pytest.raises(InvalidValue, match="L2 is needed"):
        Gaussian(Fraction(9)).release(Secret(np.array([1])), l1(1), gateway)


def test_a_release_is_the_secret_with_discrete_gaussian_noise() -> None:
    words = [2**63 + 12345 * place for place in range(3)]
    noise = DiscreteGaussian(Fraction(9)).draw(ScriptedEntropy(words), 3)
    secret = Secret(np.array([40, 2, -7]))
    released = Gaussian(Fraction(9)).release(secret, l2(1), LiveGateway(ScriptedEntropy(words)))
    assert released.tolist() == (np.array([40, 2, -7]) + noise).tolist()


@pytest.mark.parametrize("scale", [1, 4, 40])
def test_a_release_has_its_law_and_not_one_five_percent_off(scale: int) -> None:
    gateway = LiveGateway(SystemEntropy(b"unit"))
    secret = Secret(np.zeros(100_000, dtype=np.int64))
    noise = Gaussian(Fraction(scale**2)).release(secret, l2(1), gateway).astype(float)
    assert goodness(noise, GaussianLaw(scale)) > 1e-6
    assert goodness(noise, GaussianLaw(scale * 1.05)) < 1e-6


@pytest.mark.parametrize(
    "variance", [Fraction(1, 10), Fraction(1), Fraction(30), Fraction(1000)]
)
@pytest.mark.parametrize("confidence", [Fraction("0.5"), Fraction("0.95"), NEARLY])
def test_the_error_is_the_least_that_suffices(variance: Fraction, confidence: Fraction) -> None:
    error = int(Gaussian(variance).error(confidence))
    assert within(error, float(variance)) >= confidence
    assert error == 0 or within(error - 1, float(variance)) < confidence


@pytest.mark.parametrize("confidence", [Fraction(0), Fraction("0.5"), Fraction("0.95"), NEARLY])
def test_a_large_error_is_never_too_small_and_at_most_one_too_large(
    confidence: Fraction,
) -> None:
    just_summed = Gaussian(SUMMED_BELOW - Fraction(1, 10**6)).error(confidence)
    assert 0 <= Gaussian(Fraction(SUMMED_BELOW)).error(confidence) - just_summed <= 1
    size = float(Gaussian(Fraction(10**12)).error(confidence)) / 10**6
    assert erf(size / sqrt(2)) >= confidence
    assert confidence == 0 or erf((size - 1e-5) / sqrt(2)) < confidence


def test_a_tail_beyond_the_floats_is_bounded() -> None:
    beyond = 1 - Fraction(1, 10**400)
    ratio = Gaussian(Fraction(10**8)).error(beyond) / Gaussian(Fraction(10**4)).error(beyond)
    assert 100 <= ratio < 101


@pytest.mark.parametrize("wrong", [Fraction(0), Fraction(-1)])
def test_a_variance_is_above_zero(wrong: Fraction) -> None:
    with pytest.raises(InvalidValue, match=f"above 0, but {wrong} was given"):
        Gaussian(wrong)


@pytest.mark.parametrize("wrong", [Fraction(1), Fraction(-1, 2), Fraction(2)])
def test_a_confidence_is_below_one(wrong: Fraction) -> None:
    with pytest.raises(InvalidValue, match="must be in"):
        Gaussian(Fraction(9)).error(wrong)
