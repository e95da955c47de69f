"""Mean and variance together, and an interval for the population's mean."""

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from numpy.typing import ArrayLike

from tacit.core.bounds import Bounds
from tacit.core.event import Composed
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.core.unit import Neighbours
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.robust.estimate import NORMAL, Estimate
from tacit.robust.noisy_sum import NoisySum
from tacit.robust.steps import exact_sum, steps_from

HALF = 2**22
"""Steps from the middle to a bound: sums of their squares are exact."""

SHARES = Fraction(3, 5), Fraction(3, 10), Fraction(1, 10)
"""Of the sum, the squares and the number; where that is public the squares get its share."""


@dataclass(frozen=True, slots=True)
class Moments:
    """The mean and the variance of one value for each unit, clamped to ``bounds``.

    Sums of the distances to the middle of the bounds and of their squares are released, never
    those of the values themselves: for a narrow heap far from 0 these nearly cancel.

    Guarantee: ``event()`` stays within ``loss``. For independent units the mean's interval
    holds the *population's* mean with 95%, to first order in 1/n: its width has the sampling
    error, by the released variance, and that of the noise. Under epsilon there is none.

    Example:
        >>> both = Moments(Bounds.of(0, 10), Loss.zcdp("0.1"), Neighbours.REPLACE_ONE)
        >>> len(both.event().events)
        2
    """

    bounds: Bounds
    loss: Loss
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        if self.bounds.width == 0:
            raise InvalidValue("Bounds that are one number have no variance; nothing is asked.")

    def event(self) -> Composed:
        """Two sums, and one count where the number of units is private."""
        return Composed(tuple(each.event() for each in self._sums()))

    def release(self, values: ArrayLike, gateway: Gateway) -> tuple[Estimate, Estimate]:
        """The noisy mean and variance of ``values``, one for each unit."""
        lower, upper = self.bounds.lower, self.bounds.upper
        middle, reach = float((lower + upper) / 2), float((upper - lower) / 2)
        steps, sums = steps_from(values, middle, reach, HALF), self._sums()
        exact = [exact_sum(steps), exact_sum(steps**2), steps.size][: len(sums)]
        total, squares, *count = (
            float(each.release([number], gateway)[0])
            for each, number in zip(sums, exact, strict=True)
        )
        units, step = max(1.0, count[0] if count else float(steps.size)), reach / HALF
        off = min(max(total / units, -HALF), HALF)
        variance = min(max(0.0, squares / units - off**2), HALF**2)
        mean = Estimate(middle + step * off)
        if self.loss.measure is Measure.ZCDP:
            hidden = sums[0].variance + (off**2 * sums[2].variance if count else 0)
            wide = NORMAL * step * sqrt(variance / units + hidden / units**2)
            interval = (mean.value - wide, mean.value + wide)
            mean = Estimate(mean.value, interval, "the population's mean")
        return mean, Estimate(step**2 * variance)

    def _sums(self) -> tuple[NoisySum, ...]:
        public = self.neighbours.size_is_public
        total, squares, count = SHARES
        first = NoisySum.within(
            self.loss.part(total),
            Fraction(2 * HALF if public else HALF) ** 2,
            "a value moves the sum by its range",
        )
        second = NoisySum.within(
            self.loss.part(1 - total if public else squares),
            Fraction(HALF) ** 4,
            "a square lies between 0 and that of half the range",
        )
        if public:
            return first, second
        third = NoisySum.within(self.loss.part(count), Fraction(1), "a unit counts once")
        return first, second, third
