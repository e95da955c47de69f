"""The mean of values between public bounds."""

from dataclasses import dataclass
from fractions import Fraction

from numpy.typing import ArrayLike

from tacit.core.bounds import Bounds
from tacit.core.event import Composed
from tacit.core.loss import Loss
from tacit.core.unit import Neighbours
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.robust.estimate import CONFIDENCE, Estimate
from tacit.robust.noisy_sum import NoisySum
from tacit.robust.steps import exact_sum, steps_from

SUM_SHARE = Fraction(4, 5)
"""What the sum gets of the loss where the number of units is released as well."""

HALF = 2**32
"""Steps from the middle to a bound: rounding is far below any noise."""


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of one value for each unit, clamped to ``bounds``.

    Where units come and go their number is private: the sum of what lies above or below the
    middle, which one unit moves by half the range, and the number are released. Where one is
    replaced the number is public, and the sum moves by the whole range.

    Guarantee: ``event()`` stays within ``loss``. The interval holds the mean of the clamped
    values with 95% at least; nobody's guess of the population is in it.

    Example:
        >>> mean = Mean(Bounds.of(0, 10), Loss.zcdp("0.1"), Neighbours.REPLACE_ONE)
        >>> len(mean.event().events)
        1
    """

    bounds: Bounds
    loss: Loss
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        if self.bounds.width == 0:
            raise InvalidValue("Bounds that are one number have that mean; nothing is asked.")

    def event(self) -> Composed:
        """One sum, and one count where the number of units is private."""
        return Composed(tuple(each.event() for each in self._sums()))

    def release(self, values: ArrayLike, gateway: Gateway) -> Estimate:
        """The noisy mean of ``values``, one for each unit."""
        middle, reach = self._middle_and_reach()
        steps, sums = steps_from(values, middle, reach, HALF), self._sums()
        total = float(sums[0].release([exact_sum(steps)], gateway)[0])
        count, off, sure = float(steps.size), 0.0, CONFIDENCE
        if not self.neighbours.size_is_public:
            count = float(sums[1].release([steps.size], gateway)[0])
            off, sure = sums[1].error(EACH), EACH
        value = middle + reach * _within_one(total / HALF / max(count, 1.0))
        if count - off < 1:  # there may be nobody
            return Estimate(value)
        ends = [(total + side * sums[0].error(sure)) / HALF for side in (-1, 1)]
        quotients = [end / (count + side * off) for end in ends for side in (-1, 1)]
        interval = (
            middle + reach * _within_one(min(quotients) - 1 / HALF),
            middle + reach * _within_one(max(quotients) + 1 / HALF),
        )
        return Estimate(value, interval, "the mean of the clamped values")

    def _sums(self) -> tuple[NoisySum, ...]:
        if self.neighbours.size_is_public:
            square = Fraction(2 * HALF) ** 2
            return (NoisySum.within(self.loss, square, "a value becomes another"),)
        total, count = self.loss.part(SUM_SHARE), self.loss.part(1 - SUM_SHARE)
        return (
            NoisySum.within(total, Fraction(HALF) ** 2, "a value is half the range off"),
            NoisySum.within(count, Fraction(1), "a unit counts once"),
        )

    def _middle_and_reach(self) -> tuple[float, float]:
        lower, upper = self.bounds.lower, self.bounds.upper
        return float((lower + upper) / 2), float((upper - lower) / 2)


EACH = (1 + CONFIDENCE) / 2
"""Two errors, each with half of what a confidence leaves, are both within with it."""


def _within_one(part_of_reach: float) -> float:
    return min(max(part_of_reach, -1.0), 1.0)
