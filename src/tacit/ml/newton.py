"""Noisy Newton steps over the rows of units: few, and each with a slope of its own."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from tacit.core.event import Composed, Repeated
from tacit.core.loss import Loss
from tacit.core.secret import Secret
from tacit.core.unit import Neighbours
from tacit.engines.unit_rows import UnitRows
from tacit.mechanisms.gateway import Gateway
from tacit.ml.arrival import NewtonArrival
from tacit.ml.clipped_sum import ClippedSum
from tacit.ml.descent import NoisyDescent
from tacit.ml.mallows import MallowsScores
from tacit.ml.packed import unpacked
from tacit.ml.sandwich import LEAST_SLOPE, floored
from tacit.ml.total_algebra import Floats, finite, solve

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
