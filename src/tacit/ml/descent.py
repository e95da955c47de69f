"""Where noisy steps end: how far their noise leaves the weights off, and whether they came."""

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
"""A bias below this part of a deviation, and noise below this part of a slope, do no harm."""

RARE = 0.001
"""How often steps that did come are taken for ones that did not."""


class Arrival(Protocol):
    """The end of a walk to where scores with the mean slope M add up to nothing."""

    @property
    def weights(self) -> Floats:
        """Where it ended."""

    def noise(self, slope: Floats) -> Floats:
        """The covariance of the weights around that place, from the noise of the steps."""

    def came(self, slope: Floats, covariance: Floats) -> bool:
        """Whether what is left of the way is little beside what the weights deviate by."""


@dataclass(frozen=True, slots=True, eq=False)
class DescentArrival:
    """So many ``steps`` of ``rate`` against mean gradients, which ended at ``weights``.

    ``gradient_noise`` is the deviation of an entry of each mean gradient.
    """

    steps: int
    rate: float
    gradient_noise: float
    weights: Floats

    def noise(self, slope: Floats) -> Floats:
        """N = rate s^2 (2M - rate M^2)^-1 (I - (I - rate M)^(2K)): what K noisy steps leave."""
        values, vectors = eigen(slope)
        kept = 1 - np.clip(self.rate * values, 0.0, 1.0)
        # the sum of kept^(2k) over the steps, times the variance of one
        left = sum(kept ** (2 * step) for step in range(self.steps))
        variance = finite(np.float64(self.rate) * self.gradient_noise) ** 2
        return finite((vectors * finite(left * variance)) @ vectors.T)

    def came(self, slope: Floats, covariance: Floats) -> bool:
        """By where the steps ended: each multiplies what is left of the way by I - rate M."""
        kept = 1 - self.rate * float(eigen(slope)[0][0])
        if not 0 < kept < 1:  # at 1, steps are too short for floats to tell that they are any
            return False
        left = kept**self.steps
        if left == 1:
            return False
        short = left / (1 - left) * float(np.linalg.norm(self.weights))
        return short <= SMALL * float(np.sqrt(np.diag(covariance)).min())


@dataclass(frozen=True, slots=True, eq=False)
class NewtonArrival:
    """So many ``steps`` by a mean gradient and a mean slope each, to ``weights``.

    ``gradient_noise`` and ``slope_noise`` are the deviations of an entry of each of these, and
    ``last`` is the step that ended there.
    """

    steps: int
    gradient_noise: float
    slope_noise: float
    weights: Floats
    last: Floats

    def noise(self, slope: Floats) -> Floats:
        """C <- s^2 M^-2 + t^2/2 M^-1 (tr(C) I + C) M^-1: a step forgets all but wrong slopes.

        A slope that is off by E leaves M^-1 E of what a step should have undone. Where E is no
        longer small beside M this does not hold, and no interval is printed.
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

    def came(self, slope: Floats, covariance: Floats) -> bool:
        """By the last step, which is as long as noise makes it; the slopes were known, too.

        Newton's steps undo nearly all that is left: after a last step that noise and a small
        part of a deviation explain, less than that is left.
        """
        if self.slope_noise > SMALL * float(eigen(slope)[0][0]):
            return False
        explained = finite(2 * self.noise(slope) + SMALL**2 * covariance)
        length = self.last @ solve(explained, self.last)
        return bool(length <= chdtri(len(self.last), RARE))


# ------------------------------------------------------------------ descent
# Noisy gradient descent over the rows of units: a number of steps that is fixed in advance.

COUNT_SHARE = Fraction(1, 50)
"""Of the loss, for how many units there are: it scales the steps, and need not be near."""

Gradients = Callable[[Floats, Integers], Floats]
"""Weights and rows, to the gradient of each row's loss."""


@dataclass(frozen=True, slots=True)
class NoisyDescent:
    """So many ``steps`` against the mean of units' clipped gradients, each with noise.

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
                "Descent takes one step or more and a finite rate above 0, and "
                f"{self.steps} and {self.rate} were given."
            )

    def event(self) -> Composed:
        """One count, and a gradient for each step."""
        return Composed((self.count.event(), Repeated(self.gradient.event(), self.steps)))

    @property
    def count(self) -> ClippedSum:
        """How many units there are."""
        return ClippedSum(1.0, 1, self.neighbours, self.loss.part(COUNT_SHARE))

    @property
    def gradient(self) -> ClippedSum:
        """The sum of gradients of one step."""
        share = (1 - COUNT_SHARE) / self.steps
        return ClippedSum(self.clip, self.dimensions, self.neighbours, self.loss.part(share))

    def units(self, rows: Secret[UnitRows], gateway: Gateway) -> float:
        """How many units there are, noisy, and 1 at least."""
        noisy = self.count.release(rows, lambda table: np.ones((len(table), 1)), gateway)
        return max(1.0, float(noisy[0]))

    def path(
        self, rows: Secret[UnitRows], gradients: Gradients, units: float, gateway: Gateway
    ) -> Floats:
        """The weights after each step, from 0 on; a function of what was released."""
        weights, found, noisy = np.zeros(self.dimensions), [], self.gradient
        for _ in range(self.steps):
            total = noisy.release(rows, partial(gradients, weights), gateway)
            weights = finite(weights - self.rate * total / units)
            found.append(weights)
        return np.array(found)

    def arrival(self, path: Floats, units: float) -> DescentArrival:
        """What there is to say of the end of a ``path``."""
        noise = self.gradient.deviation / units
        return DescentArrival(self.steps, self.rate, noise, path[-1])
