"""Means and variances: with public bounds, with private bounds, and for normal values.

`BoundedMean` and `MeanAndVariance` need public bounds. `ClippedMean` chooses the bounds
privately from quantiles. `CoinPress` is for values that are nearly normal, and narrows a wide
public guess in three rounds.
"""

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
"""The share of the privacy loss for the sum, if the number of units is released as well."""

MEAN_STEPS = 2**32
"""Number of grid steps from the middle to a bound, so that rounding is far below the noise."""


@dataclass(frozen=True, slots=True)
class BoundedMean:
    """The mean of one value per unit, clamped to ``bounds``.

    Where units are added or removed, their number is private. Then the number is released, and
    the sum of distances from the middle of the bounds, which one unit changes by at most half
    the range. Where a unit is replaced, the number is public, and a unit changes the sum by at
    most the whole range.

    Guarantee: ``event()`` stays within ``loss``. The interval contains the mean of the clamped
    values of the sample with probability 95% or more. It does not cover sampling error.

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
            raise InvalidValue(
                "The lower and the upper bound are equal, so the mean is already known; use "
                "bounds that differ."
            )

    def event(self) -> core.Composed:
        """Describe the releases: one sum, and one count if the number of units is private."""
        return core.Composed(tuple(each.event() for each in self._sums()))

    def release(self, values: ArrayLike, gateway: Gateway) -> RobustEstimate:
        """Release the mean of ``values``, which has one value per unit."""
        middle, reach = self._middle_and_reach()
        steps, sums = steps_from(values, middle, reach, MEAN_STEPS), self._sums()
        total = float(sums[0].release([exact_sum(steps)], gateway)[0])
        count, off, sure = float(steps.size), 0.0, CONFIDENCE
        if not self.neighbours.size_is_public:
            count = float(sums[1].release([steps.size], gateway)[0])
            off, sure = sums[1].error(EACH), EACH
        value = middle + reach * _within_one(total / MEAN_STEPS / max(count, 1.0))
        if count - off < 1:  # the number of units may be 0, so there is no interval
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
"""The confidence of each of two margins of error that hold together with `CONFIDENCE`."""


def _within_one(part_of_reach: float) -> float:
    return min(max(part_of_reach, -1.0), 1.0)


# ------------------------------------------------------------------ mean and variance

MOMENT_STEPS = 2**22
"""Number of grid steps from the middle to a bound, so that sums of squares are exact."""

MOMENT_SHARES = Fraction(3, 5), Fraction(3, 10), Fraction(1, 10)
"""The shares of the privacy loss for the sum, the squares and the number of units.

Where the number is public, the squares get its share as well.
"""


@dataclass(frozen=True, slots=True)
class MeanAndVariance:
    """The mean and the variance of one value per unit, clamped to ``bounds``.

    The sums of distances from the middle of the bounds and of their squares are released, and
    not the sums of the values and their squares. For values in a narrow range far from 0, these
    would nearly cancel in the variance.

    Guarantee: ``event()`` stays within ``loss``. For independent units, the interval contains
    the *population's* mean with probability 95%, to first order in 1/n. It covers the sampling
    error, estimated from the released variance, and the noise. Under pure epsilon there is no
    interval.

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
            raise InvalidValue(
                "The lower and the upper bound are equal, so the variance is 0; use bounds "
                "that differ."
            )

    def event(self) -> core.Composed:
        """Describe the releases: two sums, and one count if the number of units is private."""
        return core.Composed(tuple(each.event() for each in self._sums()))

    def release(
        self, values: ArrayLike, gateway: Gateway
    ) -> tuple[RobustEstimate, RobustEstimate]:
        """Release the mean and the variance of ``values``, which has one value per unit."""
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


# ------------------------------------------------------------------ mean with private bounds

BOUND_SHARE = Fraction(1, 8)
"""The share of the privacy loss for each of the two quantiles; the mean gets the rest."""

MISSED = Fraction(1, 20)
"""The probability with which a quantile may exceed its margin of error in ranks."""


@dataclass(frozen=True, slots=True)
class ClippedMean:
    """The mean of values clamped to two private quantiles, ``tail`` and 1 - ``tail``.

    ``cells`` only have to cover the values roughly; for an unknown range, use cells that are
    finer near 0. The tail must contain more ranks than the margin of error of the private
    choice; otherwise the choice may be a cell beyond all values. `tail_for` computes such a
    tail.

    Guarantee: ``event()`` stays within ``loss``. There is no interval, because the bias of
    clamping depends on the values in the tails, which are not released.

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
            raise InvalidValue(f"The tail must be between 0 and 1/2, not {self.tail}.")

    def event(self) -> core.Composed:
        """Describe the releases: two selections, and the mean between the selected bounds."""
        moved, ends = self._sensitivity(), self._ends()
        price = BoundedMean(self.cells.bounds, self._rest(), self.neighbours).event()
        return core.Composed((*(end.event(moved) for end in ends), price))

    def release(self, values: ArrayLike, gateway: Gateway) -> RobustEstimate:
        """Release the mean of ``values``, which has one value per unit."""
        counts, moved = self.cells.counts(values), self._sensitivity()
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
            rate = epsilon / one.event(self._sensitivity()).epsilon
            found.append(RankQuantile(probability, rate, self.cells.count, self.neighbours))
        return found[0], found[1]

    def _rest(self) -> core.Loss:
        return self.loss.part(1 - 2 * BOUND_SHARE)

    def _sensitivity(self) -> core.Sensitivity:
        times = self.neighbours.additions
        return core.Sensitivity.of(
            times, core.Norm.L1, core.Rule("a unit's value lies in one cell")
        )


def tail_for(size: int, cells: PublicCells, loss: core.Loss) -> Fraction:
    """Return the smallest tail that exceeds the margin of error of a private quantile.

    ``size`` is the number of units. It must be public: an estimate by the owner, or the exact
    number where that is public.

    Example:
        >>> float(tail_for(5000, PublicCells(core.Bounds.of(0, 10**4)), core.Loss.zcdp("0.1")))
        0.0161
    """
    ranks = 2 * log(cells.count / MISSED) / float(_epsilon(loss.part(BOUND_SHARE)))
    return min(Fraction(round(10_000 * ranks / size), 10_000), Fraction(2, 5))


def _epsilon(loss: core.Loss) -> Fraction:
    """Return the epsilon of one selection by the exponential mechanism within ``loss``."""
    return 1 / calibrate(lambda x: core.ExponentialSelection(1 / x), loss)


# ------------------------------------------------------------------ CoinPress

ROUND_SHARES = Fraction(1, 8), Fraction(1, 8), Fraction(3, 4)
"""The shares of the privacy loss of the three rounds; the last round gives the answer."""

ROUND_STEPS = 2**30
"""Number of grid steps from the centre of a round to its edge.

It does not depend on the radius, so the privacy loss is fixed in advance.
"""

FAILURE = 0.01
"""The probability with which a round may clip values that belong to the distribution."""


@dataclass(frozen=True, slots=True)
class CoinPress:
    """The mean of nearly normal values with a standard deviation of at most ``deviation``.

    The algorithm starts from a public guess: the mean lies within ``radius`` of ``centre``.
    Each round clips to the range that the round before left possible. Neighbours replace one
    value, and the number of values is public.

    Guarantee: ``event()`` stays within ``loss``, whatever the values. For normal values with at
    most that standard deviation, the interval contains the *population's* mean with probability
    95%, to first order. For other values, the interval has no guarantee.
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
            raise InvalidValue("CoinPress adds Gaussian noise; give the loss in rho (zCDP).")
        if self.radius <= 0 or self.deviation <= 0:
            raise InvalidValue(
                "CoinPress needs a radius and a deviation above 0, but "
                f"{self.radius} and {self.deviation} were given."
            )

    def event(self) -> core.Composed:
        """Describe the releases for the accountant: three rounds of Gaussian noise."""
        return core.Composed(tuple(each.event() for each in self._rounds()))

    def release(self, values: ArrayLike, gateway: Gateway) -> RobustEstimate:
        """Release the mean of ``values``, which has one value per unit."""
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
    """Return the distance, in standard deviations, that a normal value rarely exceeds.

    It exceeds this distance with probability at most ``FAILURE``.
    """
    tail = log(1 / FAILURE)
    return sqrt(1 + 2 * sqrt(tail) + 2 * tail)
