"""Noisy gradient descent, and bounds on how far its result is from the exact solution.

`NoisyDescent` takes a fixed number of steps against the mean of clipped gradients. The number
of steps is fixed in advance, so the privacy loss does not depend on the data.

A `LastIterate` describes the end of such an iteration, of descent or of Newton's method
(`tacit.ml.newton`). It answers two questions that a confidence interval needs: how much
variance the noise of the steps leaves in the weights, and whether the iteration has converged,
so that the remaining bias is small compared with the standard deviation. Both answers use
released numbers only. In formulas, M is the mean slope of the scores (the mean Hessian).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import inf
from typing import Protocol

import numpy as np
from scipy.special import chdtri

from tacit.core import Composed, Loss, Neighbours, Repeated, Secret
from tacit.engines import UnitRows
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway
from tacit.ml.clipped_sum import ClippedSum
from tacit.ml.finite_algebra import Floats, eigen, finite, inverse, solve
from tacit.noise import Integers

SMALL = 0.1
"""The ratio of bias to standard deviation, and of noise to slope, that counts as negligible."""

RARE = 0.001
"""The probability with which iterations that have converged are reported as not converged."""


class LastIterate(Protocol):
    """The end of an iteration for the weights at which the scores sum to 0."""

    @property
    def weights(self) -> Floats:
        """The weights after the last step."""

    def noise(self, slope: Floats) -> Floats:
        """Return the covariance of the weights that is due to the noise of the steps."""

    def has_converged(self, slope: Floats, covariance: Floats) -> bool:
        """Return whether the remaining bias is small compared with the standard deviations."""


@dataclass(frozen=True, slots=True, eq=False)
class DescentLastIterate:
    """The end of gradient descent: ``steps`` steps of size ``rate`` that led to ``weights``.

    ``gradient_noise`` is the standard deviation of the noise on an entry of a mean gradient.
    """

    steps: int
    rate: float
    gradient_noise: float
    weights: Floats

    def noise(self, slope: Floats) -> Floats:
        """Return the covariance N that the noise of K steps leaves in the weights.

        N = rate s^2 (2M - rate M^2)^-1 (I - (I - rate M)^(2K)), where s is `gradient_noise`.
        """
        values, vectors = eigen(slope)
        contraction = 1 - np.clip(self.rate * values, 0.0, 1.0)
        # in each eigenvector: the sum of contraction^(2k) over the steps, times one variance
        left = sum(contraction ** (2 * step) for step in range(self.steps))
        variance = finite(np.float64(self.rate) * self.gradient_noise) ** 2
        return finite((vectors * finite(left * variance)) @ vectors.T)

    def has_converged(self, slope: Floats, covariance: Floats) -> bool:
        """Return whether the distance to the solution is small, judged by the path so far.

        Each step multiplies the distance to the solution by I - rate M. The steps started at 0,
        so the final weights and this contraction together give the distance that remains.
        """
        contraction = 1 - self.rate * float(eigen(slope)[0][0])
        if not 0 < contraction < 1:  # at 1, the steps are too short to be seen in floats
            return False
        left = contraction**self.steps
        if left == 1:
            return False
        bias = left / (1 - left) * float(np.linalg.norm(self.weights))
        return bias <= SMALL * float(np.sqrt(np.diag(covariance)).min())


@dataclass(frozen=True, slots=True, eq=False)
class NewtonLastIterate:
    """The end of Newton's method: ``steps`` steps that led to ``weights``.

    Each step uses a noisy mean gradient and a noisy mean slope. ``gradient_noise`` and
    ``slope_noise`` are the standard deviations of the noise on an entry of each of these, and
    ``last`` is the last step.
    """

    steps: int
    gradient_noise: float
    slope_noise: float
    weights: Floats
    last: Floats

    def noise(self, slope: Floats) -> Floats:
        """Return the covariance that noise leaves in the weights, by a recursion over steps.

        C <- s^2 M^-2 + t^2/2 M^-1 (tr(C) I + C) M^-1, where s is `gradient_noise` and t is
        `slope_noise`. With an exact slope, a Newton step would remove all of the error before
        it. A slope with an error of E leaves M^-1 E of that error. The recursion is valid while
        E is small compared with M. Otherwise the iteration counts as not converged, and no
        interval is printed.
        """
        back = inverse(slope)
        steepest = max(np.abs(eigen(back)[0]).max(), np.finfo(np.float64).tiny)
        wrong = min(self.slope_noise, SMALL / float(steepest))
        fresh = finite(np.float64(self.gradient_noise) ** 2 * (back @ back))
        found = fresh
        for _ in range(self.steps - 1):
            spread = np.trace(found) * np.eye(len(slope)) + found
            found = finite(fresh + np.float64(wrong) ** 2 / 2 * (back @ spread @ back))
        return found

    def has_converged(self, slope: Floats, covariance: Floats) -> bool:
        """Return whether noise alone explains the length of the last step.

        A Newton step removes nearly all of the remaining error. So if the last step is no
        longer than the noise and a small part of the standard deviation explain, then the error
        that remains is smaller still. This needs slopes that are known well, which is checked
        first.
        """
        if self.slope_noise > SMALL * float(eigen(slope)[0][0]):
            return False
        explained = finite(2 * self.noise(slope) + SMALL**2 * covariance)
        length = self.last @ solve(explained, self.last)
        return bool(length <= chdtri(len(self.last), RARE))


# ------------------------------------------------------------------ noisy gradient descent

COUNT_SHARE = Fraction(1, 50)
"""The share of the privacy loss for the number of units, which only scales the step size."""

Gradients = Callable[[Floats, Integers], Floats]
"""A function from weights and rows to the gradient of each row's loss."""


@dataclass(frozen=True, slots=True)
class NoisyDescent:
    """Gradient descent with ``steps`` steps against the noisy mean of clipped gradients.

    The gradient of a *unit*, over all of its rows, is clipped to the norm ``clip``.

    Guarantee: ``event()`` stays within ``loss``, whatever the rows and the gradients.
    Reference: Bassily, Smith, Thakurta 2014, with full batches; Song, Chaudhuri, Sarwate 2013.

    Example:
        >>> descent = NoisyDescent(20, 1.0, 4.0, 3, Neighbours.ADD_REMOVE, Loss.zcdp("0.1"))
        >>> descent.event().events[1].times
        20
    """

    steps: int
    clip: float
    rate: float
    dimensions: int
    neighbours: Neighbours
    loss: Loss

    def __post_init__(self) -> None:
        if self.steps < 1 or not 0 < self.rate < inf:
            raise InvalidValue(
                "Gradient descent needs at least one step and a finite rate above 0, but "
                f"{self.steps} and {self.rate} were given."
            )

    def event(self) -> Composed:
        """Describe the releases for the accountant: one count, and one gradient per step."""
        return Composed((self.count.event(), Repeated(self.gradient.event(), self.steps)))

    @property
    def count(self) -> ClippedSum:
        """The noisy number of units, as a clipped sum."""
        return ClippedSum(1.0, 1, self.neighbours, self.loss.part(COUNT_SHARE))

    @property
    def gradient(self) -> ClippedSum:
        """The noisy sum of gradients in one step."""
        share = (1 - COUNT_SHARE) / self.steps
        return ClippedSum(self.clip, self.dimensions, self.neighbours, self.loss.part(share))

    def units(self, rows: Secret[UnitRows], gateway: Gateway) -> float:
        """Release the noisy number of units, which is at least 1."""
        noisy = self.count.release(rows, lambda table: np.ones((len(table), 1)), gateway)
        return max(1.0, float(noisy[0]))

    def path(
        self, rows: Secret[UnitRows], gradients: Gradients, units: float, gateway: Gateway
    ) -> Floats:
        """Return the weights after each step, starting from 0.

        They depend on the rows through released gradients only.
        """
        weights, found, noisy = np.zeros(self.dimensions), [], self.gradient
        for _ in range(self.steps):
            total = noisy.release(rows, partial(gradients, weights), gateway)
            weights = finite(weights - self.rate * total / units)
            found.append(weights)
        return np.array(found)

    def last_iterate(self, path: Floats, units: float) -> DescentLastIterate:
        """Describe the end of a ``path``, for confidence intervals."""
        noise = self.gradient.deviation / units
        return DescentLastIterate(self.steps, self.rate, noise, path[-1])
