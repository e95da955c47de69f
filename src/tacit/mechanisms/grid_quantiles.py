"""How far the cells of a grid, and reaches around one of them, are from a wanted rank."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.core import Norm, Secret, Sensitivity
from tacit.core import event as events
from tacit.errors import InvalidValue
from tacit.mechanisms.additive_noise import Gaussian
from tacit.mechanisms.exponential import check_choice, shortfall
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.mechanism import valid_confidence
from tacit.noise import Geometric, Integers, ManyEqual, ManyExponentials, Wide, choose_each
from tacit.numeric import log_bounds, sqrt_bounds
from tacit.numeric.entropy import Entropy

FAR = 2**200
"""More ranks than any table has."""


def cell_scores(counts: Wide, probability: Fraction) -> Wide:
    """Minus each cell's distance to the wanted rank, times the probability's denominator.

    Example:
        >>> cell_scores(np.array([[1, 0, 2, 0]], dtype=object), Fraction(1, 2)).tolist()
        [[-1, -1, 0, -3]]
    """
    least, most = _ranks(counts, probability)
    scores: Wide = -np.maximum(np.maximum(least, -most), 0)
    return scores


def reach_scores(counts: Wide, probability: Fraction, cell: Integers, margin: int) -> Wide:
    """Minus how far each reach around ``cell`` is from the first with a margin, in the same.

    A reach is the first where it holds ``margin`` ranks to either side of the wanted one, and
    the one before it does not; all where it meets an end of the grid.

    Example:
        >>> rows = np.array([[1, 1, 1, 1, 1]], dtype=object)
        >>> reach_scores(rows, Fraction(1, 2), np.array([2]), margin=1)[0, :3].tolist()
        [-1, 0, -1]
    """
    least, most = _ranks(counts, probability)
    around, last = np.array(reaches(counts.shape[1])), counts.shape[1] - 1
    low, high = np.maximum(cell[:, None] - around, 0), np.minimum(cell[:, None] + around, last)
    before = np.where(low == 0, FAR, -np.take_along_axis(least, low, axis=1))
    after = np.where(high == last, FAR, np.take_along_axis(most, high, axis=1))
    held, enough = np.minimum(before, after), margin * probability.denominator
    shorter = np.concatenate([np.full((len(held), 1), -FAR, dtype=object), held[:, :-1]], 1)
    scores: Wide = -np.maximum(np.maximum(shorter - enough, enough - held), 0)
    return scores


def _ranks(counts: Wide, probability: Fraction) -> tuple[Wide, Wide]:
    """By cell, the rows before it and up to it, less the wanted rank, in parts of a row."""
    rows = np.cumsum(counts, axis=1)
    most = rows * probability.denominator - rows[:, -1:] * probability.numerator
    return most - counts * probability.denominator, most


@lru_cache(maxsize=256)
def reaches(cells: int) -> tuple[int, ...]:
    """How many cells to either side a reach may hold, half as many again each; then all.

    Example:
        >>> reaches(1), reaches(3)
        ((0,), (0, 1, 2))
    """
    found = [0]
    while found[-1] < cells - 1:
        found.append(min(max(found[-1] + 1, found[-1] * 3 // 2), cells - 1))
    return tuple(found)


# ------------------------------------------------------------------ grid quantile
# A quantile of each group on a public grid, and how far around it the exact one lies.

BLOCK = 2**16
"""Cells that are weighed at once: a few megabytes of integers."""


@dataclass(frozen=True, slots=True)
class GridQuantile:
    """For each group the place of a cell near a quantile, and that of a reach around it.

    The secret is how many values lie in each of ``cells`` cells, group after group. First a
    cell is chosen by its distance in ranks, as `Quantile` does it. Then, the cell being known,
    one of the public `reaches` is chosen: the first whose cells, that far to either side, hold
    the wanted rank and `margin` ranks more, or one near it by the same distance.

    Guarantee: counts of L1 sensitivity d, the same in each of ``max_groups`` groups, lose as
    many selections of 2 * rate * d / max_groups * max(probability, 1 - probability), and as
    many with ``reach_rate``. The reach holds the quantile with ``confidence`` at least,
    whatever the counts.
    Reference: Smith 2011, for the ranks; docs/privacy/mechanisms/grid_quantile.md.

    Example:
        >>> reaches(12)
        (0, 1, 2, 3, 4, 6, 9, 11)
        >>> half = Fraction(1, 2)
        >>> median = GridQuantile(half, Fraction(2), half, cells=12, max_groups=1)
        >>> median.margin
        12
    """

    probability: Fraction
    rate: Fraction
    reach_rate: Fraction
    cells: int
    max_groups: int
    flips: bool = False
    """Whether to permute and flip, which is better under pure epsilon."""
    confidence: Fraction = Fraction(19, 20)

    def __post_init__(self) -> None:
        check_choice(self.rate, self.cells)
        check_choice(self.reach_rate, self.cells)
        valid_confidence(self.confidence)
        if not 0 < self.probability < 1:
            raise InvalidValue(
                f"A quantile lies between 0 and 1, and {self.probability} does not."
            )
        if self.max_groups < 1:
            raise InvalidValue(
                f"A unit is in 1 group or more, and max_groups={self.max_groups} was given."
            )

    @property
    def margin(self) -> int:
        """Ranks that a reach should hold on either side of the wanted one.

        One more than a choice of a reach falls short by: that covers every usual meaning of a
        quantile between two values.
        """
        steps = Fraction(len(reaches(self.cells)))
        return shortfall(self.reach_rate, steps, self.confidence).__ceil__() + 1

    def interval(self, cell: int, place: int) -> tuple[int, int]:
        """The first and the last cell that a released cell and reach hold.

        Example:
            >>> half = Fraction(1, 2)
            >>> GridQuantile(half, half, half, cells=12, max_groups=1).interval(2, 4)
            (0, 6)
        """
        around = reaches(self.cells)[place]
        return max(cell - around, 0), min(cell + around, self.cells - 1)

    def event(self, sensitivity: Sensitivity) -> events.Composed:
        """Two selections in each group of a unit."""
        moved = sensitivity.in_norm(Norm.L1).amount / self.max_groups
        moved *= 2 * max(self.probability, 1 - self.probability)
        kind = events.PermuteAndFlipSelection if self.flips else events.ExponentialSelection
        rates = self.rate, self.reach_rate
        return events.Composed(
            tuple(events.Repeated(kind(rate * moved), self.max_groups) for rate in rates)
        )

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """For each group the place of a cell, and then that of a reach."""
        rates = self.rate, self.reach_rate
        draw = ChooseCells(
            self.probability, rates, self.margin, self.cells, self.max_groups, self.flips
        )
        return gateway.release(secret, sensitivity.in_norm(Norm.L1), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """How many ranks the chosen cell lies from the quantile at most."""
        return shortfall(self.rate, Fraction(self.cells), confidence)


@dataclass(frozen=True, slots=True)
class ChooseCells:
    """The draw: cells by their ranks, then reaches around them by theirs."""

    probability: Fraction
    rates: tuple[Fraction, Fraction]
    margin: int
    cells: int
    max_groups: int
    flips: bool

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """For each group two places, one after the other."""
        if values.size % self.cells:
            raise InvalidValue(
                f"Groups of {self.cells} counts are expected, and {values.size} were given."
            )
        counts, block = values.reshape(-1, self.cells), max(1, BLOCK // self.cells)
        found = [
            self._chosen(counts[start : start + block].astype(object), entropy)
            for start in range(0, len(counts), block)
        ]
        return np.concatenate([np.zeros((0, 2), dtype=np.int64), *found]).ravel()

    def _chosen(self, counts: Wide, entropy: Entropy) -> Integers:
        """The two places of each group."""
        scores = cell_scores(counts, self.probability)
        cell = self._choose(self.rates[0], scores, entropy)
        scores = reach_scores(counts, self.probability, cell, self.margin)
        reach = self._choose(self.rates[1], scores, entropy)
        return np.stack([cell, reach], axis=1)

    def _choose(self, rate: Fraction, scores: Wide, entropy: Entropy) -> Integers:
        """One place of each row, by its scores."""
        rate /= self.probability.denominator
        if not self.flips:
            return choose_each(entropy, ManyExponentials(rate, scores))
        # a geometric draw of scale 1 / rate reaches the gap with probability exp(-rate * gap)
        ticks = Geometric(1 / rate).draw(entropy, scores.size).reshape(scores.shape)
        gaps = scores.max(axis=1, keepdims=True) - scores
        return choose_each(entropy, ManyEqual((ticks >= gaps).astype(np.bool_)))


# ------------------------------------------------------------------ tree quantile
# Quantiles, the least and the greatest from noisy counts of a tree over a public grid.

Counts = NDArray[np.float64]
"""Estimates of the nodes of one level."""

SMALLEST = float(np.nextafter(0, 1))


@dataclass(frozen=True, slots=True)
class TreeQuantile:
    """The noisy counts of all nodes of a tree over a grid, level by level from the top.

    Level i has ``branching**i`` nodes, and the last level is the grid; the root is not counted.
    A secret may hold several trees, one after the other. `quantiles` and `extremes` read one
    released tree, for nothing.

    Guarantee: counts whose L2 sensitivity has the square d2 lose d2 / (2 * variance) in zCDP. A
    unit of one value moves one node a level by 1, so its d2 is ``levels``.
    Reference: Hay, Rastogi, Miklau, Suciu 2010, theorem 3, for the least squares; Canonne,
    Kamath, Steinke 2020, for the noise.

    Example:
        >>> tree = TreeQuantile(Fraction(1, 100), levels=2, branching=2)
        >>> tree.quantiles(np.array([30, 70, 10, 20, 60, 10]), [Fraction(1, 2), Fraction(1)])
        [2, 3]
    """

    variance: Fraction
    levels: int
    branching: int

    def __post_init__(self) -> None:
        Gaussian(self.variance)
        if self.levels < 1 or self.branching < 2:  # noqa: PLR2004 - one branch is no choice
            raise InvalidValue(
                "A tree has 1 level or more and 2 branches or more, and "
                f"levels={self.levels}, branching={self.branching} was given."
            )

    @property
    def nodes(self) -> int:
        """How many counts a tree has."""
        return self._ends[-1]

    def event(self, sensitivity: Sensitivity) -> events.GaussianNoise:
        """Gaussian noise of this variance, for that L2 sensitivity."""
        return Gaussian(self.variance).event(self._of_a_tree(sensitivity))

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The counts with noise."""
        return Gaussian(self.variance).release(secret, self._of_a_tree(sensitivity), gateway)

    def error(self, confidence: Fraction) -> Fraction:
        """The least integer t with P(abs(noise) <= t) >= confidence, for one node."""
        return Gaussian(self.variance).error(confidence)

    def rank_error(self, confidence: Fraction) -> Fraction:
        """How far the estimated number of units up to a cell is off, at most.

        It is a sum of (branching - 1) * levels nodes or fewer, or better, and the noise is
        sub-Gaussian (Canonne, Kamath, Steinke 2020, corollary 9).
        """
        valid_confidence(confidence)
        square = 2 * self.variance * (self.branching - 1) * self.levels
        return sqrt_bounds(square * log_bounds(2 / (1 - confidence))[1])[1]

    def quantiles(self, noisy: Integers, probabilities: Sequence[Fraction]) -> list[int]:
        """The cells where so much of a released tree lies at or before them."""
        if any(not 0 <= probability <= 1 for probability in probabilities):
            raise InvalidValue(f"Probabilities lie in [0, 1], and {probabilities} do not.")
        counts = self.consistent(noisy)
        return [self._descend(counts, float(probability)) for probability in probabilities]

    def extremes(self, noisy: Integers, confidence: Fraction) -> tuple[int, int]:
        """The cells of the least and the greatest rank that are seen through the noise.

        A rank within `rank_error` of an end may be noise alone, so the true least and greatest
        values lie outside or at these cells.
        """
        units = max(1, int(noisy[: self.branching].sum()))
        hidden = min(Fraction(1, 2), self.rank_error(confidence) / units)
        least, greatest = self.quantiles(noisy, [hidden, 1 - hidden])
        return least, greatest

    def consistent(self, noisy: Integers) -> list[Counts]:
        """By level, the counts nearest to the noisy ones whose children add up to parents."""
        if noisy.size != self.nodes:
            raise InvalidValue(f"A tree has {self.nodes} counts, and {noisy.size} were given.")
        levels = [noisy[a:b].astype(np.float64) for a, b in pairwise([0, *self._ends])]
        for level in reversed(range(self.levels - 1)):
            under = self.branching ** (self.levels - level - 1)
            own = (self.branching - 1) * under / (self.branching * under - 1)
            levels[level] = own * levels[level] + (1 - own) * self._sums(levels[level + 1])
        for level in range(1, self.levels):
            missing = levels[level - 1] - self._sums(levels[level])
            levels[level] = levels[level] + np.repeat(missing / self.branching, self.branching)
        return levels

    def _descend(self, levels: list[Counts], rank: float) -> int:
        """The cell at ``rank``, a part of the units, where a negative count is none."""
        cell = 0
        for counts in levels:
            children = counts[cell * self.branching :][: self.branching].clip(min=0)
            if not children.any():
                children = np.ones(self.branching)
            reached = np.cumsum(children)
            wanted = max(rank * float(reached[-1]), SMALLEST)
            child = min(int(np.searchsorted(reached, wanted)), self.branching - 1)
            before = float(reached[child] - children[child])
            rank = min(1.0, max(0.0, (wanted - before) / max(float(children[child]), SMALLEST)))
            cell = cell * self.branching + child
        return cell

    def _of_a_tree(self, sensitivity: Sensitivity) -> Sensitivity:
        if sensitivity.in_norm(Norm.L2).square < self.levels:
            raise InvalidValue(
                f"A unit moves a tree by at least the root of its {self.levels} levels, and "
                f"the root of {sensitivity.square} was given."
            )
        return sensitivity

    def _sums(self, counts: Counts) -> Counts:
        """Of each parent's children."""
        sums: Counts = counts.reshape(-1, self.branching).sum(axis=1)
        return sums

    @property
    def _ends(self) -> list[int]:
        """Where each level ends."""
        return list(accumulate(self.branching**level for level in range(1, self.levels + 1)))
