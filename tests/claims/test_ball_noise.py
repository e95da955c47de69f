from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta, gamma, kstest

from tacit.noise.vector import RoundedBall
from tacit.numeric.entropy import SystemEntropy

ENTROPY = SystemEntropy(b"unit")
STEPS = 10**6


@pytest.fixture(scope="module")
def drawn() -> np.ndarray:
    return RoundedBall(Fraction(STEPS), 10).draw(ENTROPY, 100_000) / STEPS


def test_the_norm_is_gamma_with_a_scale_and_not_a_rate(drawn: np.ndarray) -> None:
    norms = np.linalg.norm(drawn, axis=1)
    assert norms.mean() == pytest.approx(10, rel=0.01)
    assert (norms**2).mean() == pytest.approx(110, rel=0.01)
    assert kstest(norms, gamma(10).cdf).pvalue > 1e-6
    assert kstest(norms, gamma(10, scale=1.02).cdf).pvalue < 1e-6
    assert kstest(norms, gamma(9).cdf).pvalue < 1e-6
    halves = RoundedBall(Fraction(STEPS, 2), 10).draw(ENTROPY, 50_000) / STEPS
    assert np.linalg.norm(halves, axis=1).mean() == pytest.approx(5, rel=0.01)


@pytest.mark.parametrize("dimensions", [2, 3, 10])
def test_the_direction_is_uniform(dimensions: int) -> None:
    noise = RoundedBall(Fraction(STEPS), dimensions).draw(ENTROPY, 50_000).astype(float)
    cosines = noise[:, -1] / np.linalg.norm(noise, axis=1)
    shape = (dimensions - 1) / 2
    assert kstest((1 + cosines) / 2, beta(shape, shape).cdf).pvalue > 1e-6
    assert kstest((1 + cosines) / 2, beta(shape * 1.2, shape * 1.2).cdf).pvalue < 1e-6


def test_one_dimension_is_the_laplace_law() -> None:
    noise = RoundedBall(Fraction(STEPS), 1).draw(ENTROPY, 400_000)[:, 0] / STEPS
    assert kstest(noise, "laplace").pvalue > 1e-6
    assert kstest(noise * 1.05, "laplace").pvalue < 1e-6
