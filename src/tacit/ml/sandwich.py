"""The covariance of a noisy M-estimate: a sandwich of released matrices, and the noise."""

from dataclasses import dataclass

import numpy as np

from tacit.ml.clipped_sum import Floats

LEAST_SLOPE = 0.05
"""Eigenvalues of a noisy slope are at least this: below, no interval is printed anyway."""

SMALL = 0.1
"""A bias below this part of a deviation, and noise below this part of a slope, do no harm."""


@dataclass(frozen=True, slots=True, eq=False)
class Sandwich:
    """Released means over units: ``slope`` M of the scores, and ``square`` Q of them.

    ``slope_noise`` is the deviation of an entry of M, and ``gradient_noise`` that of an entry
    of the mean gradient in each of ``iterations`` steps of ``rate``, which end at ``weights``.

    Reference: Avella-Medina, Bradshaw, Loh 2023; the noise of a finite number of steps, and
    when an interval may be printed at all, are derived in docs/privacy/models.md.
    """

    slope: Floats
    square: Floats
    units: float
    rate: float
    iterations: int
    gradient_noise: float
    slope_noise: float
    weights: Floats

    @property
    def covariance(self) -> Floats:
        """Of the weights, from sampling and from noise: M^-1 Q M^-1 / n + N."""
        slope, square = _floored(self.slope, LEAST_SLOPE), _floored(self.square, 0.0)
        inverse = np.linalg.inv(slope)
        return np.asarray(inverse @ square @ inverse / self.units + self.noise)

    @property
    def noise(self) -> Floats:
        """N = rate s^2 (2M - rate M^2)^-1 (I - (I - rate M)^(2K)): what K noisy steps leave."""
        slope = _floored(self.slope, LEAST_SLOPE)
        values, vectors = np.linalg.eigh(slope)
        kept = 1 - np.clip(self.rate * values, 0.0, 1.0)
        # the sum of kept^(2k) over the steps, times the variance of one
        left = sum(kept ** (2 * step) for step in range(self.iterations))
        return np.asarray(
            (vectors * (left * (self.rate * self.gradient_noise) ** 2)) @ vectors.T
        )

    @property
    def is_honest(self) -> bool:
        """Whether an interval may be printed: the steps arrived, and the slope is known.

        What is left of the way is judged by where the steps ended. All of it was released.
        """
        least = float(np.linalg.eigvalsh(self.slope)[0])
        if self.slope_noise > SMALL * least or self.rate * least >= 1:
            return False
        left = (1 - self.rate * least) ** self.iterations
        short = left / (1 - left) * float(np.linalg.norm(self.weights))
        return short <= SMALL * float(np.sqrt(np.diag(self.covariance)).min())


def _floored(matrix: Floats, least: float) -> Floats:
    """The symmetric matrix with no eigenvalue below ``least``."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)
