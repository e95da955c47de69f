"""The mean of values between public bounds."""

from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt

import numpy as np
from numpy.typing import ArrayLike

from tacit import core
from tacit.accounting import calibrate
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway
from tacit.robust.estimate import (
    CONFIDENCE,
    NORMAL,
    NoisySum,
    RobustEstimate,
    exact_sum,
    steps_from,
)
from tacit.robust.quantiles import PublicCells, RankQuantile

SUM_SHARE = Fraction(4, 5)
"""What the sum gets of the loss where the number of units is released as well."""

MEAN_STEPS = 2**32
"""Steps from the middle to a bound: rounding is far below any noise."""


@dataclass(frozen=True, slots=True)
class BoundedMean:
    """The mean of one value for each unit, clamped to ``bounds``.

    Where units come and go their number is private: the sum of what lies above or below the
    middle, which one unit moves by half the range, and the number are released. Where one is
    replaced the number is public, and the sum moves by the whole range.

    Guarantee: ``event()`` stays within ``loss``. The interval holds the mean of the clamped
    values with 95% at least; nobody's guess of the population is in it.

    Example:
        >>> mean = BoundedMean(
        ...     core.Bounds.of(0, 10), core.Loss.zcdp("0.1"), core.Neighbours.REPLACE_ONE
        ... )
        >>> len(mean.event().events)
        1
    """

    bounds: core.Bounds
    loss: core.Loss
    neighbours: core.Neighbours = core.Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        if self.bounds.width == 0:
            raise InvalidValue("Bounds that are one number have that mean; nothing is asked.")

    def event(self) -> core.Composed:
        """One sum, and one count where the number of units is private."""
        return core.Composed(tuple(each.event() for each in self._sums()))

    def release(self, values: ArrayLike, gateway: Gateway) -> RobustEstimate:
        """The noisy mean of ``values``, one for each unit."""
        middle, reach = self._middle_and_reach()
        steps, sums = steps_from(values, middle, reach, MEAN_STEPS), self._sums()
        total = float(sums[0].release([exact_sum(steps)], gateway)[0])
        count, off, sure = float(steps.size), 0.0, CONFIDENCE
        if not self.neighbours.size_is_public:
            count = float(sums[1].release([steps.size], gateway)[0])
            off, sure = sums[1].error(EACH), EACH
        value = middle + reach * _within_one(total / MEAN_STEPS / max(count, 1.0))
        if count - off < 1:  # there may be nobody
            return RobustEstimate(value)
        ends = [(total + side * sums[0].error(sure)) / MEAN_STEPS for side in (-1, 1)]
        quotients = [end / (count + side * off) for end in ends for side in (-1, 1)]
        interval = (
            middle + reach * _within_one(min(quotients) - 1 / MEAN_STEPS),
            middle + reach * _within_one(max(quotients) + 1 / MEAN_STEPS),
        )
        return RobustEstimate(value, interval, "the mean of the clamped values")

    def _sums(self) -> tuple[NoisySum, ...]:
        if self.neighbours.size_is_public:
            square = Fraction(2 * MEAN_STEPS) ** 2
            return (NoisySum.within(self.loss, square, "a value becomes another"),)
        total, count = self.loss.part(SUM_SHARE), self.loss.part(1 - SUM_SHARE)
        return (
            NoisySum.within(total, Fraction(MEAN_STEPS) ** 2, "a value is half the range off"),
            NoisySum.within(count, Fraction(1), "a unit counts once"),
        )

    def _middle_and_reach(self) -> tuple[float, float]:
        lower, upper = self.bounds.lower, self.bounds.upper
        return float((lower + upper) / 2), float((upper - lower) / 2)


EACH = (1 + CONFIDENCE) / 2
"""Two errors, each with half of what a confidence leaves, are both within with it."""


def _within_one(part_of_reach: float) -> float:
    return min(max(part_of_reach, -1.0), 1.0)


# ------------------------------------------------------------------ moments
# Mean and variance together, and an interval for the population's mean.

MOMENT_STEPS = 2**22
"""Steps from the middle to a bound: sums of their squares are exact."""

MOMENT_SHARES = Fraction(3, 5), Fraction(3, 10), Fraction(1, 10)
"""Of the sum, the squares and the number; where that is public the squares get its share."""


@dataclass(frozen=True, slots=True)
class MeanAndVariance:
    """The mean and the variance of one value for each unit, clamped to ``bounds``.

    Sums of the distances to the middle of the bounds and of their squares are released, never
    those of the values themselves: for a narrow heap far from 0 these nearly cancel.

    Guarantee: ``event()`` stays within ``loss``. For independent units the mean's interval
    holds the *population's* mean with 95%, to first order in 1/n: its width has the sampling
    error, by the released variance, and that of the noise. Under epsilon there is none.

    Example:
        >>> both = MeanAndVariance(
        ...     core.Bounds.of(0, 10), core.Loss.zcdp("0.1"), core.Neighbours.REPLACE_ONE
        ... )
        >>> len(both.event().events)
        2
    """

    bounds: core.Bounds
    loss: core.Loss
    neighbours: core.Neighbours = core.Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        if self.bounds.width == 0:
            raise InvalidValue("Bounds that are one number have no variance; nothing is asked.")

    def event(self) -> core.Composed:
        """Two sums, and one count where the number of units is private."""
        return core.Composed(tuple(each.event() for each in self._sums()))

    def release(
        self, values: ArrayLike, gateway: Gateway
    ) -> tuple[RobustEstimate, RobustEstimate]:
        """The noisy mean and variance of ``values``, one for each unit."""
        lower, upper = self.bounds.lower, self.bounds.upper
        middle, reach = float((lower + upper) / 2), float((upper - lower) / 2)
        steps, sums = steps_from(values, middle, reach, MOMENT_STEPS), self._sums()
        exact = [exact_sum(steps), exact_sum(steps**2), steps.size][: len(sums)]
        total, squares, *count = (
            float(each.release([number], gateway)[0])
            for each, number in zip(sums, exact, strict=True)
        )
        units, step = max(1.0, count[0] if count else float(steps.size)), reach / MOMENT_STEPS
        off = min(max(total / units, -MOMENT_STEPS), MOMENT_STEPS)
        variance = min(max(0.0, squares / units - off**2), MOMENT_STEPS**2)
        mean = RobustEstimate(middle + step * off)
        if self.loss.measure is core.Measure.ZCDP:
            hidden = sums[0].variance + (off**2 * sums[2].variance if count else 0)
            wide = NORMAL * step * sqrt(variance / units + hidden / units**2)
            interval = (mean.value - wide, mean.value + wide)
            mean = RobustEstimate(mean.value, interval, "the population's mean")
        return mean, RobustEstimate(step**2 * variance)

    def _sums(self) -> tuple[NoisySum, ...]:
        public = self.neighbours.size_is_public
        total, squares, count = MOMENT_SHARES
        first = NoisySum.within(
            self.loss.part(total),
            Fraction(2 * MOMENT_STEPS if public else MOMENT_STEPS) ** 2,
            "a value moves the sum by its range",
        )
        second = NoisySum.within(
            self.loss.part(1 - total if public else squares),
            Fraction(MOMENT_STEPS) ** 4,
            "a square lies between 0 and that of half the range",
        )
        if public:
            return first, second
        third = NoisySum.within(self.loss.part(count), Fraction(1), "a unit counts once")
        return first, second, third


# ------------------------------------------------------------------ clipped mean
# The mean of values whose bounds nobody knows: clamped to private quantiles.

BOUND_SHARE = Fraction(1, 8)
"""What each of the two quantiles gets of the loss; the mean gets the rest."""

MISSED = Fraction(1, 20)
"""How often a quantile may fall short of its slack in ranks."""


@dataclass(frozen=True, slots=True)
class ClippedMean:
    """The mean of values clamped to two private quantiles, ``tail`` and 1 - ``tail``.

    ``cells`` need to hold the values only roughly; finer ones near 0 are for a range that
    nobody knows. The tail must hold more ranks than a private choice misses by, or the choice
    lands where there is nothing: `tail_for` says how many.

    Guarantee: ``event()`` stays within ``loss``. There is no interval: what clamping takes away
    depends on tails that were not released.

    Example:
        >>> cells = PublicCells(core.Bounds.of(0, 10**4), unit=Fraction(1))
        >>> mean = ClippedMean(cells, core.Loss.zcdp("0.1"), tail=Fraction(1, 50))
        >>> len(mean.event().events)
        3
    """

    cells: PublicCells
    loss: core.Loss
    tail: Fraction
    neighbours: core.Neighbours = core.Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        if not 0 < self.tail < Fraction(1, 2):
            raise InvalidValue(f"A tail lies between 0 and 1/2, and {self.tail} does not.")

    def event(self) -> core.Composed:
        """Two selections, and a mean whose noise follows what they released."""
        moved, ends = self._moved(), self._ends()
        price = BoundedMean(self.cells.bounds, self._rest(), self.neighbours).event()
        return core.Composed((*(end.event(moved) for end in ends), price))

    def release(self, values: ArrayLike, gateway: Gateway) -> RobustEstimate:
        """The noisy mean of ``values``, one for each unit."""
        counts, moved = self.cells.counts(values), self._moved()
        low, high = sorted(
            int(end.release(core.Secret(counts), moved, gateway)[0]) for end in self._ends()
        )
        found = core.Bounds.of(
            self.cells.edge(low), self.cells.edge(high + 1), core.Provenance.ESTIMATED
        )
        clamped = BoundedMean(found, self._rest(), self.neighbours).release(values, gateway)
        return RobustEstimate(clamped.value)

    def _ends(self) -> tuple[RankQuantile, RankQuantile]:
        epsilon = _epsilon(self.loss.part(BOUND_SHARE))
        found = []
        for probability in (self.tail, 1 - self.tail):
            one = RankQuantile(probability, Fraction(1), self.cells.count, self.neighbours)
            rate = epsilon / one.event(self._moved()).epsilon
            found.append(RankQuantile(probability, rate, self.cells.count, self.neighbours))
        return found[0], found[1]

    def _rest(self) -> core.Loss:
        return self.loss.part(1 - 2 * BOUND_SHARE)

    def _moved(self) -> core.Sensitivity:
        times = self.neighbours.additions
        return core.Sensitivity.of(
            times, core.Norm.L1, core.Rule("a unit's value lies in one cell")
        )


def tail_for(size: int, cells: PublicCells, loss: core.Loss) -> Fraction:
    """The least tail that a private choice among so many units does not miss.

    ``size`` is public knowledge: a guess of the owner's, or the number where it is public.

    Example:
        >>> float(tail_for(5000, PublicCells(core.Bounds.of(0, 10**4)), core.Loss.zcdp("0.1")))
        0.0161
    """
    ranks = 2 * log(cells.count / MISSED) / float(_epsilon(loss.part(BOUND_SHARE)))
    return min(Fraction(round(10_000 * ranks / size), 10_000), Fraction(2, 5))


def _epsilon(loss: core.Loss) -> Fraction:
    """The bounded range that one selection may have."""
    return 1 / calibrate(lambda x: core.ExponentialSelection(1 / x), loss)


# ------------------------------------------------------------------ coin press
# The mean of bell-shaped values from a wide guess, by clipping that tightens: CoinPress.

ROUND_SHARES = Fraction(1, 8), Fraction(1, 8), Fraction(3, 4)
"""Of the loss, round by round: the last one makes the answer."""

ROUND_STEPS = 2**30
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
        ...     centre=0.0, radius=1000.0, deviation=15.0, loss=core.Loss.zcdp("0.1")
        ... )
        >>> len(heights.event().events)
        3
    """

    centre: float
    radius: float
    deviation: float
    loss: core.Loss

    def __post_init__(self) -> None:
        if self.loss.measure is not core.Measure.ZCDP:
            raise InvalidValue("CoinPress adds Gaussian noise; ask for a loss in rho.")
        if self.radius <= 0 or self.deviation <= 0:
            raise InvalidValue(
                "CoinPress needs a radius and a deviation above 0, and "
                f"{self.radius} and {self.deviation} were given."
            )

    def event(self) -> core.Composed:
        """Three rounds of Gaussian noise."""
        return core.Composed(tuple(each.event() for each in self._rounds()))

    def release(self, values: ArrayLike, gateway: Gateway) -> RobustEstimate:
        """The noisy mean of ``values``, one for each unit."""
        centre, radius, spread = self.centre, self.radius / self.deviation, _spread()
        units, hidden = max(1, np.size(values)), 0.0
        for each in self._rounds():
            edge = (radius + spread) * self.deviation
            total = exact_sum(steps_from(values, centre, edge, ROUND_STEPS))
            centre += edge / ROUND_STEPS * float(each.release([total], gateway)[0]) / units
            hidden = edge / ROUND_STEPS * sqrt(each.variance) / units
            radius = sqrt(1 / units + (hidden / self.deviation) ** 2) * spread
        wide = NORMAL * sqrt(self.deviation**2 / units + hidden**2)
        return RobustEstimate(centre, (centre - wide, centre + wide), "the population's mean")

    def _rounds(self) -> tuple[NoisySum, ...]:
        moved = Fraction(2 * ROUND_STEPS) ** 2
        why = "a value becomes another, up to a diameter away"
        return tuple(
            NoisySum.within(self.loss.part(share), moved, why) for share in ROUND_SHARES
        )


def _spread() -> float:
    """How far from its centre a normal value lies, in deviations, but for ``FAILURE``."""
    tail = log(1 / FAILURE)
    return sqrt(1 + 2 * sqrt(tail) + 2 * tail)
