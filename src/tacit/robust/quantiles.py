"""Quantiles on public cells, by the exponential mechanism on ranks.

`PublicCells` divides a public range into cells. `RankQuantile` selects a cell near a quantile.
`Quantiles` releases several quantiles of one value per unit, each with a confidence interval.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import asinh, sinh
from typing import assert_never

import numpy as np
from numpy.typing import ArrayLike

from tacit import core
from tacit.choose import choose_quantile
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway, GridQuantile, check_choice, check_size, shortfall
from tacit.noise import Exponentials, Integers, choose
from tacit.numeric.entropy import Entropy
from tacit.robust.estimate import RobustEstimate


@dataclass(frozen=True, slots=True)
class PublicCells:
    """A division of the range ``bounds`` into ``count`` public cells.

    Without a ``unit``, all cells have the same width. With a ``unit``, they have the same width
    in asinh(value / unit), so that they are wider, the farther they are from 0. The error of a
    private choice grows with the logarithm of the number of cells. Cells of equal width need a
    number proportional to the range, and cells that grow need only its logarithm.

    Example:
        >>> even = PublicCells(core.Bounds.of(0, 10), 5)
        >>> even.places([0.1, 9.9, 70]).tolist(), even.value(2)
        ([0, 4, 4], 5.0)
        >>> wide = PublicCells(core.Bounds.of(0, 10**6), 1000, unit=Fraction(1))
        >>> [round(wide.value(place), 1) for place in (0, 500, 999)]
        [0.0, 712.3, 992771.9]
    """

    bounds: core.Bounds
    count: int = 2**14
    unit: Fraction | None = None

    def __post_init__(self) -> None:
        if self.count < 1 or self.bounds.width == 0 or (self.unit or 1) <= 0:
            raise InvalidValue(
                "Cells need two different bounds, a count of at least 1 and a unit above 0, "
                f"but the count {self.count} and the unit {self.unit} were given."
            )

    def places(self, values: ArrayLike) -> Integers:
        """Return the index of the cell of each value.

        A value outside the bounds is in the nearest cell, and NaN is in the first.

        Guarantee: the function is defined for every input, and each index is a function of its
        own value only.
        """
        lower, upper = (float(end) for end in (self.bounds.lower, self.bounds.upper))
        numbers = np.asarray(values, dtype=np.float64)
        inside = np.clip(np.where(np.isnan(numbers), lower, numbers), lower, upper)
        even = inside if self.unit is None else np.arcsinh(inside / float(self.unit))
        low, high = self._ends
        found = np.floor((even - low) / (high - low) * self.count).astype(np.int64)
        return np.clip(found, 0, self.count - 1)

    def counts(self, values: ArrayLike) -> Integers:
        """Return the number of values in each cell."""
        return np.bincount(self.places(values), minlength=self.count)

    def value(self, place: int) -> float:
        """Return the middle of a cell."""
        return self.edge(place + 0.5)

    def edge(self, place: float) -> float:
        """Return the lower edge of the cell with the index ``place``."""
        low, high = self._ends
        even = low + (high - low) * place / self.count
        return even if self.unit is None else float(self.unit) * sinh(even)

    @property
    def _ends(self) -> tuple[float, float]:
        ends = float(self.bounds.lower), float(self.bounds.upper)
        if self.unit is None:
            return ends
        return asinh(ends[0] / float(self.unit)), asinh(ends[1] / float(self.unit))


# ------------------------------------------------------------------ one quantile


@dataclass(frozen=True, slots=True)
class RankQuantile:
    """The exponential mechanism for one quantile of values on a public grid.

    The secret is the number of values at each of ``points`` public grid points. A point t has
    the weight exp(-rate * distance), where distance is from probability * size to the ranks of
    t, which reach from #(values < t) to #(values <= t).

    Guarantee: counts of L1 sensitivity d have the pure loss 2 * rate * d * max(probability, 1 -
    probability) where one unit adds or removes rows. Where a unit is replaced, at most d / 2
    rows leave and at most d / 2 rows come, and the loss is rate * d. The loss has bounded
    range.
    Reference: Smith 2011 (on intervals between values); docs/privacy/mechanisms/quantile.md
    proves it for the distance to all ranks of a point, which allows ties.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> one = core.Sensitivity.of(1, core.Norm.L1, Rule("a person has one value"))
        >>> RankQuantile(Fraction(1, 2), rate=Fraction(1), points=1001).event(one)
        ExponentialSelection(epsilon=Fraction(1, 1))
    """

    probability: Fraction
    rate: Fraction
    points: int
    neighbours: core.Neighbours = core.Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        check_choice(self.rate, self.points)
        if not 0 < self.probability < 1:  # the extremes depend on single values
            raise InvalidValue(
                f"A quantile must be between 0 and 1, but {self.probability} was given."
            )

    def event(self, sensitivity: core.Sensitivity) -> core.ExponentialSelection:
        """Describe the selection, for counts of the given L1 sensitivity."""
        moved = sensitivity.in_norm(core.Norm.L1).amount * self._per_row()
        return core.ExponentialSelection(2 * self.rate * moved)

    def release(
        self, secret: core.Secret[Integers], sensitivity: core.Sensitivity, gateway: Gateway
    ) -> Integers:
        """Release the index of the chosen grid point, in an array of one entry."""
        draw = ChooseRank(self.probability, self.rate, self.points)
        return gateway.release(secret, sensitivity.in_norm(core.Norm.L1), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the margin of error of the chosen point, in ranks."""
        return shortfall(self.rate, Fraction(self.points), confidence)

    def _per_row(self) -> Fraction:
        """Return the largest change of a distance by one added or removed row."""
        match self.neighbours:
            case core.Neighbours.ADD_REMOVE:
                return max(self.probability, 1 - self.probability)
            case core.Neighbours.REPLACE_ONE:  # one row added and one removed change it by 1
                return Fraction(1, 2)
            case _:
                assert_never(self.neighbours)


@dataclass(frozen=True, slots=True)
class ChooseRank:
    """The draw of a quantile: a choice by scores that are computed from counts."""

    probability: Fraction
    rate: Fraction
    points: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return the index of the chosen grid point."""
        check_size(values, self.points)
        scores = rank_scores(values, self.probability)
        law = Exponentials(self.rate / self.probability.denominator, scores)
        return np.array([choose(entropy, law)], dtype=np.int64)


def rank_scores(counts: Integers, probability: Fraction) -> Integers:
    """Return the negative distance of each point from the wanted rank, as integers.

    Distances are multiplied by the denominator of the probability.

    Example:
        >>> rank_scores(np.array([1, 0, 2, 0]), Fraction(1, 2)).tolist()
        [-1, -1, 0, -3]
    """
    up_to = np.cumsum(counts.astype(object))  # Python integers cannot overflow
    wanted = up_to[-1] * probability.numerator
    most = up_to * probability.denominator
    least = most - counts.astype(object) * probability.denominator
    scores: Integers = -np.maximum(np.maximum(least - wanted, wanted - most), 0)
    return scores


# ------------------------------------------------------------------ quantiles with intervals

MEDIAN = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Quantiles of one value per unit, by the exponential mechanism on ranks.

    Each quantile has an equal share of the privacy loss, of which one twentieth is for its
    interval.

    Guarantee: ``event()`` stays within ``loss``. An interval contains the sample's quantile
    with probability 95% or more, whatever the values.
    Reference: Smith 2011; ``docs/privacy/mechanisms/grid_quantile.md`` for the intervals.

    Example:
        >>> from tacit.core.domain import Bounds
        >>> ages = PublicCells(Bounds.of(0, 120), 120)
        >>> len(Quantiles(ages, core.Loss.pure(1), (MEDIAN,)).event().events)
        1
    """

    cells: PublicCells
    loss: core.Loss
    probabilities: tuple[Fraction, ...] = (MEDIAN,)
    neighbours: core.Neighbours = core.Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        if not self.probabilities:
            raise InvalidValue("Give at least one probability; none was given.")
        self._mechanisms()

    def event(self) -> core.Composed:
        """Describe two selections per quantile: its cell, and the width of its interval."""
        moved = self._sensitivity()
        return core.Composed(tuple(each.event(moved) for each in self._mechanisms()))

    def release(self, values: ArrayLike, gateway: Gateway) -> tuple[RobustEstimate, ...]:
        """Release the quantiles of ``values``, which has one value per unit."""
        counts, moved, found = self.cells.counts(values), self._sensitivity(), []
        for each in self._mechanisms():
            cell, reach = each.release(core.Secret(counts), moved, gateway).tolist()
            first, last = each.interval(cell, reach)
            interval = self.cells.edge(first), self.cells.edge(last + 1)
            found.append(
                RobustEstimate(self.cells.value(cell), interval, "the sample's quantile")
            )
        return tuple(found)

    def _sensitivity(self) -> core.Sensitivity:
        times = self.neighbours.additions
        return core.Sensitivity.of(
            times, core.Norm.L1, core.Rule("a unit's value lies in one cell")
        )

    def _mechanisms(self) -> tuple[GridQuantile, ...]:
        loss = self.loss
        share = core.Loss(loss.measure, loss.amount / len(self.probabilities))
        return tuple(
            choose_quantile(self._sensitivity(), probability, self.cells.count, 1, share)
            for probability in self.probabilities
        )
