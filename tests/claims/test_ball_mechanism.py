from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma

from tacit.accounting.curves import ball_scale
from tacit.mechanisms.vector_noise import Ball
from tacit.noise.vector import RoundedBall
from tacit.numeric.entropy import SystemEntropy

STEPS = 10**6
GAUSSIAN_SIGMA = 4.2247
"""The least at (1, 1e-6) for a sensitivity of 1: claim T11."""


def within(size: float, dimensions: int) -> float:
    """By the norm and the angle, where the code goes by a mixture of normals."""

    def part(angle: float) -> float:
        share = np.sin(angle) ** (dimensions - 2)
        return float(share * gamma(dimensions).cdf(size / np.cos(angle)))

    flat = quad(lambda angle: np.sin(angle) ** (dimensions - 2), 0, np.pi / 2)[0]
    return float(quad(part, 0, np.pi / 2)[0] / flat)


@pytest.mark.parametrize("dimensions", [2, 3, 10, 300])
@pytest.mark.parametrize("confidence", [Fraction("0.5"), Fraction("0.95"), Fraction("0.9999")])
def test_the_error_is_the_least_that_suffices(dimensions: int, confidence: Fraction) -> None:
    error = Ball(Fraction(1000), dimensions).error(confidence)
    assert within(float(error + Fraction(1, 2)) / 1000, dimensions) >= confidence - 1e-8
    assert within(float(error - 1) / 1000, dimensions) < confidence


def test_for_one_release_it_errs_less_than_gaussian_noise() -> None:
    scale = Fraction(round(ball_scale(10, 1.0, 1e-6) * STEPS))
    noise = RoundedBall(scale, 10).draw(SystemEntropy(b"unit"), 100_000) / STEPS
    square = float((noise**2).sum(axis=1).mean())
    gaussian_square = 10 * GAUSSIAN_SIGMA**2
    assert square**0.5 == pytest.approx(9.61, rel=0.01)
    assert gaussian_square**0.5 == pytest.approx(13.36, abs=0.005)
    assert square / gaussian_square == pytest.approx(0.52, abs=0.02)
