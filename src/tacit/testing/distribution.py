"""Exact laws of the samplers, and statistical tests of a sample against a law.

The laws are computed independently of the samplers, in floating point, for tests only.
"""

from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, chi2_contingency, chisquare, laplace, norm
from scipy.stats import norm as normal

Floats = NDArray[np.float64]

WIDE = 1000
"""From this scale on, Gaussian sums over integers equal integrals up to a relative 10**-7."""


class ExactLaw(Protocol):
    """A symmetric law on the integers, with the functions that goodness-of-fit tests need."""

    @property
    def scale(self) -> float:
        """The scale parameter of the law."""
        ...

    def cumulative(self, values: Floats) -> Floats:
        """Return the probability of a draw of at most each of ``values``, integers."""
        ...

    def quantile(self, probabilities: Floats) -> Floats:
        """Return integers near the quantiles: the edges of bins need not be exact."""
        ...

    def statistic(self, sample: Floats) -> Floats:
        """Return a size for each draw; its mean is the best estimate of the scale."""
        ...

    @property
    def statistic_moments(self) -> tuple[float, float]:
        """The mean and the standard deviation of the statistic."""
        ...


@dataclass(frozen=True)
class LaplaceLaw:
    """The discrete Laplace law: P(y) is proportional to exp(-abs(y) / scale)."""

    scale: float

    def cumulative(self, values: Floats) -> Floats:
        """Return the cumulative probability of each value, by the two-sided geometric law."""
        tail = np.exp(-np.where(values < 0, -values, values + 1) / self.scale) / (
            1 + self._ratio
        )
        return np.where(values < 0, tail, 1 - tail)

    def quantile(self, probabilities: Floats) -> Floats:
        """Return the quantiles of the continuous law, rounded."""
        return np.round(laplace.ppf(probabilities, scale=self.scale))

    def statistic(self, sample: Floats) -> Floats:
        """Return the absolute values, divided by the scale."""
        return np.abs(sample) / self.scale

    @property
    def statistic_moments(self) -> tuple[float, float]:
        """The mean and standard deviation of the absolute value, divided by the scale.

        With q = exp(-1 / scale), the absolute value has the mean 2q / (1 - q**2) and the
        second moment 2q / (1 - q)**2.
        """
        gap = -expm1(-1 / self.scale)  # 1 - q without cancellation
        mean = 2 * self._ratio / (gap * (1 + self._ratio)) / self.scale
        second = 2 * self._ratio / gap**2 / self.scale**2
        return mean, sqrt(second - mean**2)

    @property
    def _ratio(self) -> float:
        return exp(-1 / self.scale)


@dataclass(frozen=True)
class GaussianLaw:
    """The discrete Gaussian law: P(y) is proportional to exp(-y**2 / (2 * scale**2))."""

    scale: float

    def cumulative(self, values: Floats) -> Floats:
        """Return the cumulative probability of each value; for a large scale, an integral."""
        if self.scale >= WIDE:
            return np.asarray(norm.cdf((values + 0.5) / self.scale))
        support, weights = self._weights
        sums = np.concatenate([[0.0], np.cumsum(weights)])
        return sums[np.searchsorted(support, values, side="right")]

    def quantile(self, probabilities: Floats) -> Floats:
        """Return the quantiles of the continuous law, rounded."""
        return np.round(norm.ppf(probabilities, scale=self.scale))

    def statistic(self, sample: Floats) -> Floats:
        """Return the squares, divided by the squared scale."""
        return (sample / self.scale) ** 2

    @property
    def statistic_moments(self) -> tuple[float, float]:
        """The mean and standard deviation of the square: 1 and root 2 for a large scale.

        For a small scale, both are summed.
        """
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


# ------------------------------------------------------------------ distribution
# Tests of a sample against a law. Each returns a p-value: the probability, under the law, of a
# sample at least as unusual as this one.
#
# The tests accept a true law and reject a false one. With a million draws, a scale that is one
# percent off lies ten standard errors away; the tests of each claim show that it is rejected.

BINS = 50
"""The number of bins, of equal probability as far as integers allow."""

LEAST_EXPECTED = 50
"""The least expected number of draws in a bin, so that the chi-square law holds."""


def goodness(sample: Floats, law: ExactLaw) -> float:
    """Test the whole shape, by chi-square on bins of nearly equal probability."""
    edges = np.unique(law.quantile(np.arange(1, BINS) / BINS))
    probabilities = np.diff(np.concatenate([[0.0], law.cumulative(edges), [1.0]]))
    # bin i has the integers above edge i - 1, up to edge i
    counts = np.bincount(np.searchsorted(edges, sample, side="left"), minlength=edges.size + 1)
    expected = probabilities * sample.size
    kept = expected >= LEAST_EXPECTED
    observed = np.append(counts[kept], counts[~kept].sum())
    wanted = np.append(expected[kept], expected[~kept].sum())
    some = wanted > 0
    return float(chisquare(observed[some], wanted[some]).pvalue)


def scale(sample: Floats, law: ExactLaw) -> float:
    """Test the scale, by the distance between the mean size of a draw and that of the law."""
    return _two_sided(scale_errors(sample, law))


def scale_errors(sample: Floats, law: ExactLaw) -> float:
    """Return by how many standard errors the mean size of a draw differs from the law."""
    mean, deviation = law.statistic_moments
    found = float(law.statistic(sample).mean())
    return (found - mean) / deviation * float(np.sqrt(sample.size))


def zeros(sample: Floats, law: ExactLaw) -> float:
    """Test the frequency of zero."""
    below, at = law.cumulative(np.array([-1.0, 0.0]))
    return _binomial(int((sample == 0).sum()), sample.size, float(at - below))


def symmetry(sample: Floats) -> float:
    """Test that positive and negative draws are equally frequent."""
    positive, negative = int((sample > 0).sum()), int((sample < 0).sum())
    return _binomial(positive, positive + negative, 0.5)


def tail(sample: Floats, law: ExactLaw, probability: float) -> float:
    """Test the frequency of draws beyond a value that few draws exceed.

    Under the law, a draw exceeds it with about the given ``probability``.
    """
    edge = float(law.quantile(np.array([1 - probability / 2]))[0])
    beyond = 2 * float(1 - law.cumulative(np.array([edge]))[0])
    return _binomial(int((np.abs(sample) > edge).sum()), sample.size, beyond)


def independence(sample: Floats) -> float:
    """Test that a draw is not correlated with the draw before it."""
    centred = sample - sample.mean()
    correlation = float(centred[1:] @ centred[:-1] / (centred @ centred))
    return _two_sided(correlation * sample.size**0.5)


def same(left: Floats, right: Floats) -> float:
    """Test that two samples have one law, by chi-square on bins of equal joint size."""
    edges = np.unique(np.quantile(np.concatenate([left, right]), np.arange(1, BINS) / BINS))
    counts = np.array(
        [
            np.bincount(np.searchsorted(edges, part, side="left"), minlength=edges.size + 1)
            for part in (left, right)
        ]
    )
    return float(chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue)


def _two_sided(errors: float) -> float:
    return float(2 * normal.sf(abs(errors)))


def _binomial(found: int, count: int, probability: float) -> float:
    return float(binomtest(found, count, min(1.0, max(0.0, probability))).pvalue)
