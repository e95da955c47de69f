"""Public cells between public bounds, even or finer near a public point: a base measure."""

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
    """``count`` cells between ``bounds``; with a ``unit`` they are even in asinh(value / unit).

    On a wide range even cells are a poor guess of where values are: a private choice then pays
    for the logarithm of the range. Cells that grow with the distance from 0 beyond ``unit`` pay
    for that of its logarithm.

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
                "Cells need bounds that differ, a count of 1 or more and a unit above 0; "
                f"{self.count} and {self.unit} were given."
            )

    def places(self, values: ArrayLike) -> Integers:
        """The cell of each value: the nearest for one outside, the first for what is no number.

        Guarantee: total, and each place is a function of its own value alone.
        """
        lower, upper = (float(end) for end in (self.bounds.lower, self.bounds.upper))
        numbers = np.asarray(values, dtype=np.float64)
        inside = np.clip(np.where(np.isnan(numbers), lower, numbers), lower, upper)
        even = inside if self.unit is None else np.arcsinh(inside / float(self.unit))
        low, high = self._ends
        found = np.floor((even - low) / (high - low) * self.count).astype(np.int64)
        return np.clip(found, 0, self.count - 1)

    def counts(self, values: ArrayLike) -> Integers:
        """How many values lie in each cell."""
        return np.bincount(self.places(values), minlength=self.count)

    def value(self, place: int) -> float:
        """The middle of a cell."""
        return self.edge(place + 0.5)

    def edge(self, place: float) -> float:
        """Where the cell ``place`` begins, and the one before it ends."""
        low, high = self._ends
        even = low + (high - low) * place / self.count
        return even if self.unit is None else float(self.unit) * sinh(even)

    @property
    def _ends(self) -> tuple[float, float]:
        ends = float(self.bounds.lower), float(self.bounds.upper)
        if self.unit is None:
            return ends
        return asinh(ends[0] / float(self.unit)), asinh(ends[1] / float(self.unit))


# ------------------------------------------------------------------ quantile
# A quantile on a public grid, by the exponential mechanism on ranks.


@dataclass(frozen=True, slots=True)
class RankQuantile:
    """The place of a grid point near the quantile ``probability`` of values on the grid.

    The secret is how many values lie at each of ``points`` public grid points. A point t has
    weight exp(-rate * distance), the distance from probability * size to the ranks that t has,
    from #(values < t) to #(values <= t).

    Guarantee: counts of L1 sensitivity d lose pure epsilon 2 * rate * d * max(probability, 1 -
    probability) where one unit adds or removes rows. Where it replaces them, d / 2 at most that
    leave by d / 2 at most that come, they lose rate * d. The range is bounded.
    Reference: Smith 2011 (on intervals between values); the distance to all ranks of a point,
    so that ties do no harm, is proved in docs/privacy/mechanisms/quantile.md.

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
        if not 0 < self.probability < 1:  # the extremes are not for private eyes
            raise InvalidValue(
                f"A quantile lies between 0 and 1, and {self.probability} does not."
            )

    def event(self, sensitivity: core.Sensitivity) -> core.ExponentialSelection:
        """A selection by ranks that move as far as ``neighbours`` lets them."""
        moved = sensitivity.in_norm(core.Norm.L1).amount * self._per_row()
        return core.ExponentialSelection(2 * self.rate * moved)

    def release(
        self, secret: core.Secret[Integers], sensitivity: core.Sensitivity, gateway: Gateway
    ) -> Integers:
        """The place of the chosen grid point, in an array of one."""
        draw = ChooseRank(self.probability, self.rate, self.points)
        return gateway.release(secret, sensitivity.in_norm(core.Norm.L1), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """How many ranks the chosen point lies from the quantile at most."""
        return shortfall(self.rate, Fraction(self.points), confidence)

    def _per_row(self) -> Fraction:
        """How far a row that comes or leaves moves a distance at most."""
        match self.neighbours:
            case core.Neighbours.ADD_REMOVE:
                return max(self.probability, 1 - self.probability)
            case core.Neighbours.REPLACE_ONE:  # one that comes and one that leaves: 1 together
                return Fraction(1, 2)
            case _:
                assert_never(self.neighbours)


@dataclass(frozen=True, slots=True)
class ChooseRank:
    """The draw of a quantile: scores from counts, and a choice by them."""

    probability: Fraction
    rate: Fraction
    points: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The place of a grid point."""
        check_size(values, self.points)
        scores = rank_scores(values, self.probability)
        law = Exponentials(self.rate / self.probability.denominator, scores)
        return np.array([choose(entropy, law)], dtype=np.int64)


def rank_scores(counts: Integers, probability: Fraction) -> Integers:
    """Minus each point's distance to the wanted rank, times the probability's denominator.

    Example:
        >>> rank_scores(np.array([1, 0, 2, 0]), Fraction(1, 2)).tolist()
        [-1, -1, 0, -3]
    """
    up_to = np.cumsum(counts.astype(object))  # Python integers: no count is too large
    wanted = up_to[-1] * probability.numerator
    most = up_to * probability.denominator
    least = most - counts.astype(object) * probability.denominator
    scores: Integers = -np.maximum(np.maximum(least - wanted, wanted - most), 0)
    return scores


# ------------------------------------------------------------------ quantiles
# Quantiles on public cells, each with an interval; the median is one of them.

MEDIAN = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Quantiles of one value for each unit, by the exponential mechanism on ranks.

    Each has an equal share of the loss, and its interval a twentieth of that.

    Guarantee: ``event()`` stays within ``loss``. An interval holds the sample's quantile with
    95% at least, whatever the values.
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
            raise InvalidValue("At least one quantile is asked for, and none was given.")
        self._each()

    def event(self) -> core.Composed:
        """Two selections for each quantile: its cell, and how far around it the interval is."""
        moved = self._moved()
        return core.Composed(tuple(each.event(moved) for each in self._each()))

    def release(self, values: ArrayLike, gateway: Gateway) -> tuple[RobustEstimate, ...]:
        """The quantiles, each from a release of its own."""
        counts, moved, found = self.cells.counts(values), self._moved(), []
        for each in self._each():
            cell, reach = each.release(core.Secret(counts), moved, gateway).tolist()
            first, last = each.interval(cell, reach)
            interval = self.cells.edge(first), self.cells.edge(last + 1)
            found.append(
                RobustEstimate(self.cells.value(cell), interval, "the sample's quantile")
            )
        return tuple(found)

    def _moved(self) -> core.Sensitivity:
        times = self.neighbours.additions
        return core.Sensitivity.of(
            times, core.Norm.L1, core.Rule("a unit's value lies in one cell")
        )

    def _each(self) -> tuple[GridQuantile, ...]:
        loss = self.loss
        share = core.Loss(loss.measure, loss.amount / len(self.probabilities))
        return tuple(
            choose_quantile(self._moved(), probability, self.cells.count, 1, share)
            for probability in self.probabilities
        )
