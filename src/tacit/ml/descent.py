"""Noisy gradient descent over the rows of units: a number of steps that is fixed in advance."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import inf

import numpy as np

from tacit.core.event import Composed, Repeated
from tacit.core.loss import Loss
from tacit.core.secret import Secret
from tacit.core.unit import Neighbours
from tacit.engines.unit_rows import UnitRows
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.ml.arrival import DescentArrival
from tacit.ml.clipped_sum import ClippedSum
from tacit.ml.total_algebra import Floats, finite
from tacit.noise.integers import Integers

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
