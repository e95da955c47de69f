"""The laws that samplers claim, computed apart from them: for tests, in floating point."""

from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import laplace, norm

Floats = NDArray[np.float64]

WIDE = 1000
"""From this scale on, sums over a Gaussian's integers are integrals up to a relative 10**-7."""


class ExactLaw(Protocol):
    """A symmetric law on the integers, with what a goodness-of-fit test needs of it."""

    @property
    def scale(self) -> float:
        """Its scale parameter."""
        ...

    def cumulative(self, values: Floats) -> Floats:
        """The probability of at most each of ``values``, which are integers."""
        ...

    def quantile(self, probabilities: Floats) -> Floats:
        """Integers near the quantiles: bins may be cut anywhere, if what they hold is exact."""
        ...

    def statistic(self, sample: Floats) -> Floats:
        """The size of each draw, whose mean tells the scale best."""
        ...

    @property
    def statistic_moments(self) -> tuple[float, float]:
        """The mean and the standard deviation of the statistic."""
        ...


@dataclass(frozen=True)
class LaplaceLaw:
    """P(y) proportional to exp(-abs(y) / scale)."""

    scale: float

    def cumulative(self, values: Floats) -> Floats:
        """By the closed form of the two-sided geometric law."""
        tail = np.exp(-np.where(values < 0, -values, values + 1) / self.scale) / (
            1 + self._ratio
        )
        return np.where(values < 0, tail, 1 - tail)

    def quantile(self, probabilities: Floats) -> Floats:
        """Those of the continuous law, rounded."""
        return np.round(laplace.ppf(probabilities, scale=self.scale))

    def statistic(self, sample: Floats) -> Floats:
        """Absolute values."""
        return np.abs(sample) / self.scale

    @property
    def statistic_moments(self) -> tuple[float, float]:
        """Of the absolute value: 2q / (1 - q**2), and second moment 2q / (1 - q)**2."""
        gap = -expm1(-1 / self.scale)  # 1 - q without cancellation
        mean = 2 * self._ratio / (gap * (1 + self._ratio)) / self.scale
        second = 2 * self._ratio / gap**2 / self.scale**2
        return mean, sqrt(second - mean**2)

    @property
    def _ratio(self) -> float:
        return exp(-1 / self.scale)


@dataclass(frozen=True)
class GaussianLaw:
    """P(y) proportional to exp(-y**2 / (2 * scale**2))."""

    scale: float

    def cumulative(self, values: Floats) -> Floats:
        """By summing the weights, or for a large scale by the integral half a step further."""
        if self.scale >= WIDE:
            return np.asarray(norm.cdf((values + 0.5) / self.scale))
        support, weights = self._weights
        sums = np.concatenate([[0.0], np.cumsum(weights)])
        return sums[np.searchsorted(support, values, side="right")]

    def quantile(self, probabilities: Floats) -> Floats:
        """Those of the continuous law, rounded."""
        return np.round(norm.ppf(probabilities, scale=self.scale))

    def statistic(self, sample: Floats) -> Floats:
        """Squares."""
        return (sample / self.scale) ** 2

    @property
    def statistic_moments(self) -> tuple[float, float]:
        """Of the square: 1 and root 2 for a large scale, summed for a small one."""
        if self.scale >= WIDE:
            return 1.0, sqrt(2.0)
        support, weights = self._weights
        squares = self.statistic(support)
        mean = float(weights @ squares)
        return mean, sqrt(float(weights @ squares**2) - mean**2)

    @cached_property
    def _weights(self) -> tuple[Floats, Floats]:
        reach = int(12 * self.scale) + 12
        support = np.arange(-reach, reach + 1, dtype=np.float64)
        weights = np.exp(-(support**2) / (2 * self.scale**2))
        return support, weights / weights.sum()
