"""The sandwich estimator of a covariance, and Newton's method, with noise.

`Sandwich` computes the covariance of an M-estimate from two released matrices, and adds the
variance of the privacy noise. `NoisySandwich` releases the two matrices, at the weights where
an iteration has ended. `NoisyNewton` is Newton's method with a noisy gradient and a noisy slope
matrix in each step. It needs few steps, and its privacy loss is fixed in advance.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from tacit.core import Composed, Loss, Neighbours, Repeated, Secret
from tacit.engines import UnitRows
from tacit.mechanisms import Gateway
from tacit.ml.clipped_sum import ClippedSum
from tacit.ml.descent import SMALL, LastIterate, NewtonLastIterate, NoisyDescent
from tacit.ml.finite_algebra import Floats, eigen, finite, inverse, solve
from tacit.ml.robust_scores import MallowsScores, unpack_symmetric

LEAST_SLOPE = 0.05
"""The lower bound on the eigenvalues of a noisy slope; below it, no interval is printed."""


@dataclass(frozen=True, slots=True, eq=False)
class Sandwich:
    """The sandwich estimator from released means over units.

    ``slope`` is the mean slope M of the scores, and ``square`` is the mean Q of their outer
    products, both at the weights of ``last_iterate``. ``slope_noise`` is the standard deviation
    of the noise on an entry of M.

    Reference: Avella-Medina, Bradshaw, Loh 2023; the noise of a finite number of steps, and
    when an interval may be printed at all, are derived in docs/privacy/models.md.
    """

    slope: Floats
    square: Floats
    units: float
    slope_noise: float
    last_iterate: LastIterate

    @property
    def covariance(self) -> Floats:
        """The covariance of the weights from sampling and from noise: M^-1 Q M^-1 / n + N."""
        back = inverse(floor_eigenvalues(self.slope, LEAST_SLOPE))
        square = floor_eigenvalues(self.square, 0.0)
        return finite(back @ square @ back / self.units + self.noise)

    @property
    def noise(self) -> Floats:
        """The covariance N that the noise of the steps leaves in the weights."""
        return self.last_iterate.noise(floor_eigenvalues(self.slope, LEAST_SLOPE))

    @property
    def is_honest(self) -> bool:
        """Whether an interval may be printed: the steps converged and the slope is accurate.

        The answer uses released numbers only.
        """
        least = float(eigen(self.slope)[0][0])
        if least < LEAST_SLOPE or self.slope_noise > SMALL * least:
            return False
        return self.last_iterate.has_converged(self.slope, self.covariance)


def floor_eigenvalues(matrix: Floats, least: float) -> Floats:
    """Return the symmetric matrix with eigenvalues below ``least`` raised to ``least``."""
    values, vectors = eigen(matrix)
    return finite((vectors * np.maximum(values, least)) @ vectors.T)


# ------------------------------------------------------------------ release of the matrices


@dataclass(frozen=True, slots=True)
class NoisySandwich:
    """The release of the two matrices of a sandwich: slopes, and outer products of scores.

    The norm of a slope is at most ``steepest``, and the norm of a score at most ``longest``.
    Each matrix gets one half of the privacy ``loss``.

    Example:
        >>> both = NoisySandwich(4.0, 2.0, 3, Neighbours.ADD_REMOVE, Loss.zcdp("0.1"))
        >>> len(both.event().events)
        2
    """

    steepest: float
    longest: float
    dimensions: int
    neighbours: Neighbours
    loss: Loss

    def event(self) -> Composed:
        """Describe the releases for the accountant: two matrices."""
        return Composed((self._slope.event(), self._square.event()))

    def release(
        self,
        rows: Secret[UnitRows],
        scores: MallowsScores,
        last_iterate: LastIterate,
        units: float,
        gateway: Gateway,
    ) -> Sandwich:
        """Release both matrices at the weights where the iteration has ended."""
        weights = last_iterate.weights
        slopes = self._slope.release(rows, partial(scores.slopes, weights), gateway)
        squares = self._square.release(rows, partial(scores.squares, weights), gateway)
        return Sandwich(
            slope=finite(unpack_symmetric(slopes, self.dimensions) / units),
            square=finite(unpack_symmetric(squares, self.dimensions) / units),
            units=units,
            slope_noise=self._slope.deviation / units,
            last_iterate=last_iterate,
        )

    @property
    def _slope(self) -> ClippedSum:
        return self._sum(self.steepest)

    @property
    def _square(self) -> ClippedSum:
        return self._sum(self.longest**2)

    def _sum(self, clip: float) -> ClippedSum:
        entries = self.dimensions * (self.dimensions + 1) // 2
        return ClippedSum(clip, entries, self.neighbours, self.loss.part(Fraction(1, 2)))


# ------------------------------------------------------------------ Newton's method

SLOPE_SHARE = Fraction(1, 2)
"""The share of the privacy loss for the slopes; count and gradients share the rest."""


@dataclass(frozen=True, slots=True)
class NoisyNewton:
    """Newton's method with ``steps`` steps, each from a noisy gradient and a noisy slope.

    A unit's scores are clipped to the norm ``clip``, and its slopes, which are symmetric
    matrices, to the norm ``steepest``. All steps but the last use an upper bound on the slopes:
    far from the solution the true slopes are too flat, and a step would overshoot. The
    eigenvalues of a mean slope are bounded from below, and no step is longer than ``clip``, so
    that the weights do not diverge where the noise is larger than the slope.

    Guarantee: ``event()`` stays within ``loss``, whatever the rows and scores.
    Reference: Avella-Medina, Bradshaw, Loh 2023, algorithm 2, from a different starting point.

    Example:
        >>> newton = NoisyNewton(5, 1.0, 4.0, 3, Neighbours.ADD_REMOVE, Loss.zcdp("0.1"))
        >>> newton.slope.dimensions
        6
    """

    steps: int
    clip: float
    steepest: float
    dimensions: int
    neighbours: Neighbours
    loss: Loss

    def event(self) -> Composed:
        """Describe the releases: one count, and a gradient and a slope for each step."""
        descent = self._descent.event()
        return Composed((descent, Repeated(self.slope.event(), self.steps)))

    @property
    def slope(self) -> ClippedSum:
        """The noisy sum of slopes in one step, as a packed symmetric matrix."""
        entries, share = self.dimensions * (self.dimensions + 1) // 2, SLOPE_SHARE / self.steps
        return ClippedSum(self.steepest, entries, self.neighbours, self.loss.part(share))

    def units(self, rows: Secret[UnitRows], gateway: Gateway) -> float:
        """Release the noisy number of units, which is at least 1."""
        return self._descent.units(rows, gateway)

    def path(
        self,
        rows: Secret[UnitRows],
        scores: MallowsScores,
        units: float,
        gateway: Gateway,
    ) -> Floats:
        """Return the weights before and after each step, starting from 0.

        They depend on the rows through released numbers only.
        """
        weights, gradient, slope = np.zeros(self.dimensions), self._descent.gradient, self.slope
        found = [weights]
        for place in range(self.steps):
            slopes = scores.steepest if place < self.steps - 1 else scores.slopes
            down = gradient.release(rows, partial(scores.gradients, weights), gateway) / units
            packed = slope.release(rows, partial(slopes, weights), gateway) / units
            steep = floor_eigenvalues(unpack_symmetric(packed, self.dimensions), LEAST_SLOPE)
            step = solve(steep, down)
            step *= self.clip / max(self.clip, float(np.linalg.norm(step)))
            weights = finite(weights - finite(step))
            found.append(weights)
        return np.array(found)

    def last_iterate(self, path: Floats, units: float) -> NewtonLastIterate:
        """Describe the end of a ``path``, for confidence intervals."""
        gradient_noise = self._descent.gradient.deviation / units
        slope_noise = self.slope.deviation / units
        last = path[-1] - path[-2]
        return NewtonLastIterate(self.steps, gradient_noise, slope_noise, path[-1], last)

    @property
    def _descent(self) -> NoisyDescent:
        """The releases of the count and the gradients, as in gradient descent."""
        loss = self.loss.part(1 - SLOPE_SHARE)
        return NoisyDescent(self.steps, self.clip, 1.0, self.dimensions, self.neighbours, loss)
