from fractions import Fraction

import numpy as np
import pytest

from tacit.mechanisms.additive_noise import Gaussian, Laplace
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.entropy import SystemEntropy
from tacit.stream.step import reach

MOST = Fraction(19, 20)


def test_one_draw_has_its_own_exact_reach() -> None:
    assert reach(Gaussian(Fraction(100)), 1.0, 0, 52, MOST) == 20
    assert reach(Laplace(Fraction(10)), 1.0, 0, 52, MOST) == 30


@pytest.mark.parametrize("draws", [2, 6, 17])
def test_sums_of_laplace_noise_stay_within_and_near(draws: int) -> None:
    noise = DiscreteLaplace(Fraction(10)).draw(SystemEntropy(b"reach"), draws * 20_000)
    sums = np.abs(noise.reshape(-1, draws).sum(axis=1))
    far = float(reach(Laplace(Fraction(10)), draws**0.5, 0, 52, MOST))
    within = (sums <= far).mean()
    assert within >= 0.95
    assert far < 2 * np.quantile(sums, 0.95)
