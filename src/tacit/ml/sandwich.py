"""The covariance of a noisy M-estimate: a sandwich of released matrices, and the noise."""

from dataclasses import dataclass

import numpy as np

from tacit.ml.arrival import SMALL, Arrival
from tacit.ml.total_algebra import Floats, eigen, finite, inverse

LEAST_SLOPE = 0.05
"""Eigenvalues of a noisy slope are at least this: below, no interval is printed."""


@dataclass(frozen=True, slots=True, eq=False)
class Sandwich:
    """Released means over units: ``slope`` M of the scores, and ``square`` Q of them.

    ``slope_noise`` is the deviation of an entry of M, taken where the ``arrival`` was.

    Reference: Avella-Medina, Bradshaw, Loh 2023; the noise of a finite number of steps, and
    when an interval may be printed at all, are derived in docs/privacy/models.md.
    """

    slope: Floats
    square: Floats
    units: float
    slope_noise: float
    arrival: Arrival

    @property
    def covariance(self) -> Floats:
        """Of the weights, from sampling and from noise: M^-1 Q M^-1 / n + N."""
        back = inverse(floored(self.slope, LEAST_SLOPE))
        square = floored(self.square, 0.0)
        return finite(back @ square @ back / self.units + self.noise)

    @property
    def noise(self) -> Floats:
        """N, what the noise of the steps leaves in the weights."""
        return self.arrival.noise(floored(self.slope, LEAST_SLOPE))

    @property
    def is_honest(self) -> bool:
        """Whether an interval may be printed: the steps arrived, and the slope is known.

        All that it looks at was released.
        """
        least = float(eigen(self.slope)[0][0])
        if least < LEAST_SLOPE or self.slope_noise > SMALL * least:
            return False
        return self.arrival.came(self.slope, self.covariance)


def floored(matrix: Floats, least: float) -> Floats:
    """The symmetric matrix with no eigenvalue below ``least``."""
    values, vectors = eigen(matrix)
    return finite((vectors * np.maximum(values, least)) @ vectors.T)
