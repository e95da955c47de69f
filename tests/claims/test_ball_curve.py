"""The curve of ball noise is that of another quadrature."""

from math import exp, expm1, log

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.special import betaln, gammaln

from tacit.accounting.curves import ball_delta


def by_norm_and_angle(scale: float, dimensions: int, epsilon: float) -> float:
    """The same delta by two other coordinates: the norm, and the cosine to the neighbour."""
    half = (dimensions - 1) / 2

    def integrand(angle: float, norm: float) -> float:
        cosine = np.cos(angle)
        # the distance to the neighbour less the norm, without cancellation
        moved = (1 - 2 * norm * cosine) / (np.sqrt(norm**2 - 2 * norm * cosine + 1) + norm)
        excess = max(0.0, -expm1(epsilon - moved / scale))
        log_norm = (dimensions - 1) * log(norm / scale) - norm / scale - gammaln(dimensions)
        log_angle = (dimensions - 2) * log(np.sin(angle)) - betaln(half, half)
        return float(excess * exp(log_norm + log_angle) / scale / 2 ** (dimensions - 2))

    def least_angle(norm: float) -> float:
        cosine = (1 - (epsilon * scale) ** 2 - 2 * norm * epsilon * scale) / (2 * norm)
        return float(np.arccos(np.clip(cosine, -1, 1)))

    longest = scale * (dimensions + 40 + 10 * dimensions**0.5)
    return float(dblquad(integrand, 0, longest, least_angle, np.pi, epsrel=1e-8)[0])


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.parametrize(
    ("scale", "dimensions", "epsilon"),
    [(0.9, 2, 1.0), (0.5, 3, 1.0), (1.0, 3, 0.5), (0.3, 4, 2.0), (2.0, 10, 0.1)],
)
def test_another_quadrature_gives_the_same_delta(
    scale: float, dimensions: int, epsilon: float
) -> None:
    found = ball_delta(scale, dimensions, epsilon)
    wanted = by_norm_and_angle(scale, dimensions, epsilon)
    assert found == pytest.approx(wanted, rel=1e-5)
    assert found != pytest.approx(
        by_norm_and_angle(scale, dimensions, epsilon * 1.01), rel=1e-5
    )
