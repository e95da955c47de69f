from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma

from tacit.accounting.ball import ball_scale
from tacit.core.event import Numerics
from tacit.core.noise_event import BallNoise
from tacit.core.proof import Rule
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.ball import GREATEST_CONFIDENCE, Ball
from tacit.mechanisms.gateway import LiveGateway
from tacit.noise.ball import RoundedBall
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.entropy import ScriptedEntropy
from tacit.testing.mechanism import l1, l2

GATEWAY = LiveGateway(SystemEntropy(b"unit"))
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


def test_small_scales_and_confidences_have_errors_too() -> None:
    assert Ball(Fraction(1, 100), 3).error(Fraction("0.99")) == 0
    assert Ball(Fraction(5), 3).error(Fraction(0)) == 0
    # of one coordinate alone, exp(-(t + 1/2) / 10) <= 1e-12 from t = 275.8
    assert Ball(Fraction(10), 1).error(GREATEST_CONFIDENCE) == 276
    assert Ball(Fraction(1), 10**6).error(Fraction("0.95")) == pytest.approx(1960, abs=2)


def test_for_one_release_it_errs_less_than_gaussian_noise() -> None:
    scale = Fraction(round(ball_scale(10, 1.0, 1e-6) * STEPS))
    noise = RoundedBall(scale, 10).draw(SystemEntropy(b"unit"), 100_000) / STEPS
    square = float((noise**2).sum(axis=1).mean())
    gaussian_square = 10 * GAUSSIAN_SIGMA**2
    assert square**0.5 == pytest.approx(9.61, rel=0.01)
    assert gaussian_square**0.5 == pytest.approx(13.36, abs=0.005)
    assert square / gaussian_square == pytest.approx(0.52, abs=0.02)


def test_a_release_is_the_secret_with_one_draw_of_noise() -> None:
    words = [2**61 + 2**57 * place for place in range(9)]
    noise = RoundedBall(Fraction(900), 3).draw(ScriptedEntropy(words), 1)[0]
    released = Ball(Fraction(900), 3).release(
        Secret(np.array([40, 2, -7])), l2(1), LiveGateway(ScriptedEntropy(words))
    )
    assert released.tolist() == (np.array([40, 2, -7]) + noise).tolist()


def test_the_event_is_idealised_and_keeps_the_square() -> None:
    root = Sensitivity(Fraction(2), Norm.L2, Rule("one person moves two groups by 1"))
    event = Ball(Fraction(9), 3).event(root)
    assert event == BallNoise(Fraction(2), Fraction(9), 3)
    assert event.numerics is Numerics.IDEALISED


def test_another_norm_length_or_confidence_is_refused() -> None:
    with pytest.raises(InvalidValue, match="L2 is needed"):
        Ball(Fraction(9), 2).event(l1(1))
    with pytest.raises(InvalidValue, match="L2 is needed"):
        Ball(Fraction(9), 2).release(Secret(np.array([1, 2])), l1(1), GATEWAY)
    with pytest.raises(InvalidValue, match="for 2 integers at once"):
        Ball(Fraction(9), 2).release(Secret(np.array([1])), l2(1), GATEWAY)
    for wrong in (Fraction(1), Fraction(-1, 9), Fraction(2)):
        with pytest.raises(InvalidValue, match="lies in"):
            Ball(Fraction(9), 2).error(wrong)
