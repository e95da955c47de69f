"""The mean of bell-shaped values from a wide guess, by clipping that tightens: CoinPress."""

from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt

import numpy as np
from numpy.typing import ArrayLike

from tacit.core.event import Composed
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.robust.estimate import NORMAL, Estimate
from tacit.robust.noisy_sum import NoisySum
from tacit.robust.steps import exact_sum, steps_from

SHARES = Fraction(1, 8), Fraction(1, 8), Fraction(3, 4)
"""Of the loss, round by round: the last one makes the answer."""

HALF = 2**30
"""Steps from the centre of a round to its edge, whatever its radius, as the price is fixed."""

FAILURE = 0.01
"""How often a round may cut off what belongs to the heap."""


@dataclass(frozen=True, slots=True)
class CoinPress:
    """The mean of values near a normal law whose deviation is at most ``deviation``.

    It starts from a public guess: the mean lies within ``radius`` of ``centre``. Each round
    clips to what the round before left possible. Neighbours replace one value, and the number
    of values is public.

    Guarantee: ``event()`` stays within ``loss``, whatever the values. For normal values of that
    deviation or less the interval holds the *population's* mean with 95% to first order; for
    others it says nothing.
    Reference: Biswas, Dong, Kamath, Ullman 2020, algorithm 1.

    Example:
        >>> heights = CoinPress(
        ...     centre=0.0, radius=1000.0, deviation=15.0, loss=Loss.zcdp("0.1")
        ... )
        >>> len(heights.event().events)
        3
    """

    centre: float
    radius: float
    deviation: float
    loss: Loss

    def __post_init__(self) -> None:
        if self.loss.measure is not Measure.ZCDP:
            raise InvalidValue("CoinPress adds Gaussian noise; ask for a loss in rho.")
        if self.radius <= 0 or self.deviation <= 0:
            raise InvalidValue(
                "CoinPress needs a radius and a deviation above 0, and "
                f"{self.radius} and {self.deviation} were given."
            )

    def event(self) -> Composed:
        """Three rounds of Gaussian noise."""
        return Composed(tuple(each.event() for each in self._rounds()))

    def release(self, values: ArrayLike, gateway: Gateway) -> Estimate:
        """The noisy mean of ``values``, one for each unit."""
        centre, radius, spread = self.centre, self.radius / self.deviation, _spread()
        units, hidden = max(1, np.size(values)), 0.0
        for each in self._rounds():
            edge = (radius + spread) * self.deviation
            total = exact_sum(steps_from(values, centre, edge, HALF))
            centre += edge / HALF * float(each.release([total], gateway)[0]) / units
            hidden = edge / HALF * sqrt(each.variance) / units
            radius = sqrt(1 / units + (hidden / self.deviation) ** 2) * spread
        wide = NORMAL * sqrt(self.deviation**2 / units + hidden**2)
        return Estimate(centre, (centre - wide, centre + wide), "the population's mean")

    def _rounds(self) -> tuple[NoisySum, ...]:
        moved = Fraction(2 * HALF) ** 2
        why = "a value becomes another, up to a diameter away"
        return tuple(NoisySum.within(self.loss.part(share), moved, why) for share in SHARES)


def _spread() -> float:
    """How far from its centre a normal value lies, in deviations, but for ``FAILURE``."""
    tail = log(1 / FAILURE)
    return sqrt(1 + 2 * sqrt(tail) + 2 * tail)
