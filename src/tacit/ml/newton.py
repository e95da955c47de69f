"""The covariance of a noisy M-estimate: a sandwich of released matrices, and the noise."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from tacit.core import Composed, Loss, Neighbours, Repeated, Secret
from tacit.engines import UnitRows
from tacit.mechanisms import Gateway
from tacit.ml.clipped_sum import ClippedSum
from tacit.ml.descent import SMALL, Arrival, NewtonArrival, NoisyDescent
from tacit.ml.finite_algebra import Floats, eigen, finite, inverse, solve
from tacit.ml.robust_scores import MallowsScores, unpacked

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


# ------------------------------------------------------------------ noisy sandwich
# The two matrices of a sandwich, summed over units with noise where a walk has ended.


@dataclass(frozen=True, slots=True)
class NoisySandwich:
    """Slopes of scores, ``steepest`` at most, and squares of scores, ``longest`` at most.

    Each gets one half of the ``loss``.

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
        """Two matrices."""
        return Composed((self._slope.event(), self._square.event()))

    def release(
        self,
        rows: Secret[UnitRows],
        scores: MallowsScores,
        arrival: Arrival,
        units: float,
        gateway: Gateway,
    ) -> Sandwich:
        """Both, where the walk has arrived."""
        weights = arrival.weights
        slopes = self._slope.release(rows, partial(scores.slopes, weights), gateway)
        squares = self._square.release(rows, partial(scores.squares, weights), gateway)
        return Sandwich(
            slope=finite(unpacked(slopes, self.dimensions) / units),
            square=finite(unpacked(squares, self.dimensions) / units),
            units=units,
            slope_noise=self._slope.deviation / units,
            arrival=arrival,
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


# ------------------------------------------------------------------ newton
# Noisy Newton steps over the rows of units: few, and each with a slope of its own.

SLOPE_SHARE = Fraction(1, 2)
"""Of the loss, for the slopes; the count and the gradients share the rest."""


@dataclass(frozen=True, slots=True)
class NoisyNewton:
    """So many ``steps`` against mean scores of rows, each divided by their mean slope.

    A unit's scores are clipped to the norm ``clip``, and its slopes, which are symmetric
    matrices, to ``steepest``. All steps but the last go by the slopes that scores have at most,
    for far away their own are too flat, and would lead past the place that is looked for.
    Eigenvalues of a mean slope are floored, and no step is longer than ``clip``: where slopes
    are little but noise, the steps do not run away.

    Guarantee: ``event()`` stays within ``loss``, whatever the rows and scores.
    Reference: Avella-Medina, Bradshaw, Loh 2023, algorithm 2, from another start.

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
        """One count, and a gradient and a slope for each step."""
        descent = self._descent.event()
        return Composed((descent, Repeated(self.slope.event(), self.steps)))

    @property
    def slope(self) -> ClippedSum:
        """The sum of slopes of one step, packed."""
        entries, share = self.dimensions * (self.dimensions + 1) // 2, SLOPE_SHARE / self.steps
        return ClippedSum(self.steepest, entries, self.neighbours, self.loss.part(share))

    def units(self, rows: Secret[UnitRows], gateway: Gateway) -> float:
        """How many units there are, noisy, and 1 at least."""
        return self._descent.units(rows, gateway)

    def path(
        self,
        rows: Secret[UnitRows],
        scores: MallowsScores,
        units: float,
        gateway: Gateway,
    ) -> Floats:
        """The weights before and after each step, from 0 on; made of what was released."""
        weights, gradient, slope = np.zeros(self.dimensions), self._descent.gradient, self.slope
        found = [weights]
        for place in range(self.steps):
            slopes = scores.steepest if place < self.steps - 1 else scores.slopes
            down = gradient.release(rows, partial(scores.gradients, weights), gateway) / units
            packed = slope.release(rows, partial(slopes, weights), gateway) / units
            steep = floored(unpacked(packed, self.dimensions), LEAST_SLOPE)
            step = solve(steep, down)
            step *= self.clip / max(self.clip, float(np.linalg.norm(step)))
            weights = finite(weights - finite(step))
            found.append(weights)
        return np.array(found)

    def arrival(self, path: Floats, units: float) -> NewtonArrival:
        """What there is to say of the end of a ``path``."""
        gradient_noise = self._descent.gradient.deviation / units
        slope_noise = self.slope.deviation / units
        last = path[-1] - path[-2]
        return NewtonArrival(self.steps, gradient_noise, slope_noise, path[-1], last)

    @property
    def _descent(self) -> NoisyDescent:
        """The count and the gradients, which are those of a descent."""
        loss = self.loss.part(1 - SLOPE_SHARE)
        return NoisyDescent(self.steps, self.clip, 1.0, self.dimensions, self.neighbours, loss)
