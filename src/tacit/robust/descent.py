"""Huber's location by noisy gradient descent, with the lectures' sign and noise put right."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from tacit.core.bounds import Bounds
from tacit.core.event import Repeated
from tacit.core.loss import Loss
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.robust.estimate import Estimate
from tacit.robust.noisy_sum import NoisySum
from tacit.robust.steps import exact_sum, steps_from

TURN = 2**40
"""Steps up to which a residual counts as it is."""


@dataclass(frozen=True, slots=True)
class DescentLocation:
    """Huber's location of one value for each unit, by so many noisy ``steps``.

    A step adds the mean of the residuals, clamped to ``turn``: against the gradient, which is
    minus that mean. Their sum moves by twice the turn where one value is replaced; the number
    of values is public, and that of the steps is fixed in advance.

    Guarantee: ``event()`` stays within ``loss``, whatever the values.
    Reference: Avella-Medina, Bradshaw, Loh 2023. ``docs/privacy/errata.md`` has the lectures'
    version, E04, whose sign goes up and whose noise is half of what it needs.

    Example:
        >>> where = DescentLocation(Bounds.of(-50, 50), turn=1.345, loss=Loss.zcdp("0.1"))
        >>> where.event().times
        20
    """

    bounds: Bounds
    turn: float
    loss: Loss
    steps: int = 20

    def __post_init__(self) -> None:
        if self.steps < 1 or not self.turn > 0:
            raise InvalidValue(
                "Descent takes one step or more and a turn above 0, and "
                f"{self.steps} and {self.turn} were given."
            )

    def event(self) -> Repeated:
        """So many sums with noise."""
        return Repeated(self._sum().event(), self.steps)

    def release(self, values: ArrayLike, gateway: Gateway) -> Estimate:
        """The noisy location of ``values``, one for each unit; it starts in the middle."""
        lower, upper = float(self.bounds.lower), float(self.bounds.upper)
        units, noisy = max(1, np.size(values)), self._sum()
        where = (lower + upper) / 2
        for _ in range(self.steps):
            total = exact_sum(steps_from(values, where, self.turn, TURN))
            mean = float(noisy.release([total], gateway)[0]) / TURN / units
            where = min(max(where + self.turn * mean, lower), upper)
        return Estimate(where)

    def _sum(self) -> NoisySum:
        each = self.loss.part(Fraction(1, self.steps))
        why = "a residual becomes another, from one turn to the other"
        return NoisySum.within(each, Fraction(2 * TURN) ** 2, why)
