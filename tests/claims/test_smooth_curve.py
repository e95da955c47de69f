"""The curve of smooth Laplace noise is that of quadrature."""

from fractions import Fraction
from itertools import pairwise
from math import exp

import numpy as np
import pytest
from scipy.integrate import quad

from tacit.accounting.curves import smooth_laplace_delta


def integrated(factor: float, log_ratio: float, shift: float, epsilon: float) -> float:
    other = factor * exp(log_ratio)

    def excess(z: float) -> float:
        left = exp(-abs(z) / factor) / (2 * factor)
        right = exp(-abs(z - shift) / other) / (2 * other)
        return max(0.0, left - exp(epsilon) * right)

    reach = 60 * max(factor, other)
    parts = np.concatenate([np.linspace(-reach, 0, 61), np.linspace(shift, reach, 61)])
    return sum(quad(excess, low, high, limit=200)[0] for low, high in pairwise(parts))


@pytest.mark.parametrize(("factor", "beta", "epsilon"), [(1.2, 0.3, 1.0), (2.0, 0.1, 0.5)])
def test_the_laplace_curve_is_that_of_quadrature(
    factor: float, beta: float, epsilon: float
) -> None:
    worst = max(
        integrated(factor, log_ratio, share * min(1.0, exp(log_ratio)), epsilon)
        for log_ratio in np.linspace(-beta, beta, 5)
        for share in (0.5, 1.0)
    )
    claimed = smooth_laplace_delta(Fraction(factor), Fraction(beta), Fraction(epsilon))
    assert worst <= claimed * (1 + 1e-6) + 1e-12
    assert worst == pytest.approx(claimed, rel=0.02)
