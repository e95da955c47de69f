"""Quantiles on a public grid of cells, by two mechanisms.

`GridQuantile` selects, for each group, a cell near the quantile and then an interval around
it, both by the exponential mechanism (or by permute and flip). The score of a cell is minus its
distance from the wanted rank. `TreeQuantile` adds Gaussian noise to the counts of a tree over
the grid; any number of quantiles can then be read from the released tree by post-processing.
"""

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
"""A rank beyond the number of rows of any table."""

# Scores are computed for many groups at once. An interval around a cell is described by its
# "reach": the number of cells that it extends to either side.


def cell_scores(counts: Wide, probability: Fraction) -> Wide:
    """Return minus the distance of each cell to the wanted rank.

    Distances are multiplied by the probability's denominator, so that they are integers.

    Example:
        >>> cell_scores(np.array([[1, 0, 2, 0]], dtype=object), Fraction(1, 2)).tolist()
        [[-1, -1, 0, -3]]
    """
    least, most = _ranks(counts, probability)
    scores: Wide = -np.maximum(np.maximum(least, -most), 0)
    return scores


def reach_scores(counts: Wide, probability: Fraction, cell: Integers, margin: int) -> Wide:
    """Return a score for each interval around ``cell``; the best one is just wide enough.

    The interval with the reach r goes from r cells before ``cell`` to r cells after it. The
    score is minus the distance from the smallest reach that has the margin. A reach has the
    margin if its interval contains at least ``margin`` ranks on both sides of
    the wanted rank; a side that ends at an end of the grid has every margin. The score is 0
    for the first reach that has the margin. Distances are in the units of `cell_scores`.

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
    covered, enough = np.minimum(before, after), margin * probability.denominator
    none = np.full((len(covered), 1), -FAR, dtype=object)
    shorter = np.concatenate([none, covered[:, :-1]], 1)
    scores: Wide = -np.maximum(np.maximum(shorter - enough, enough - covered), 0)
    return scores


def _ranks(counts: Wide, probability: Fraction) -> tuple[Wide, Wide]:
    """Return, for each cell, the rows before it and up to it, minus the wanted rank.

    Both are multiplied by the probability's denominator.
    """
    rows = np.cumsum(counts, axis=1)
    most = rows * probability.denominator - rows[:, -1:] * probability.numerator
    return most - counts * probability.denominator, most


@lru_cache(maxsize=256)
def reaches(cells: int) -> tuple[int, ...]:
    """Return the half-widths, in cells, of the public intervals around a cell.

    Each of these reaches is about 1.5 times the one before. The last one covers the whole grid
    from every cell.

    Example:
        >>> reaches(1), reaches(3)
        ((0,), (0, 1, 2))
    """
    found = [0]
    while found[-1] < cells - 1:
        found.append(min(max(found[-1] + 1, found[-1] * 3 // 2), cells - 1))
    return tuple(found)


# ------------------------------------------------------------------ selection on a grid

BLOCK = 2**16
"""Number of cells that are scored at once, which need a few megabytes."""


@dataclass(frozen=True, slots=True)
class GridQuantile:
    """For each group, a cell near a quantile, and an interval of cells around it.

    The interval is released as the index of its reach, the number of cells on either side.

    The secret is the number of values in each of ``cells`` cells, group after group. First, a
    cell is selected by its distance in ranks. Then, with the cell known, one of the public
    `reaches` is selected by a similar score: the best one is the smallest whose interval
    contains the wanted rank and `margin` more ranks on either side.

    Guarantee: for counts of L1 sensitivity d, equally divided among ``max_groups`` groups, the
    release is a composition of ``max_groups`` selections with epsilon
    2 * rate * d / max_groups * max(probability, 1 - probability), and as many with
    ``reach_rate`` for rate. The interval contains the quantile with a probability of at least
    ``confidence``, for all counts.
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
    """Whether to select by permute and flip, which has a smaller error under pure epsilon."""
    confidence: Fraction = Fraction(19, 20)

    def __post_init__(self) -> None:
        check_choice(self.rate, self.cells)
        check_choice(self.reach_rate, self.cells)
        valid_confidence(self.confidence)
        if not 0 < self.probability < 1:
            raise InvalidValue(
                f"A quantile must be between 0 and 1, but {self.probability} was given."
            )
        if self.max_groups < 1:
            raise InvalidValue(
                f"max_groups must be 1 or more, but max_groups={self.max_groups} was given."
            )

    @property
    def margin(self) -> int:
        """Number of ranks that an interval should contain on either side of the wanted rank.

        It is one more than the error bound of the selection of a reach. The extra rank covers
        every common definition of a quantile between two values.
        """
        steps = Fraction(len(reaches(self.cells)))
        return shortfall(self.reach_rate, steps, self.confidence).__ceil__() + 1

    def interval(self, cell: int, place: int) -> tuple[int, int]:
        """Return the first and last cell of the interval for a released cell and reach index.

        Example:
            >>> half = Fraction(1, 2)
            >>> GridQuantile(half, half, half, cells=12, max_groups=1).interval(2, 4)
            (0, 6)
        """
        around = reaches(self.cells)[place]
        return max(cell - around, 0), min(cell + around, self.cells - 1)

    def event(self, sensitivity: Sensitivity) -> events.Composed:
        """Return the event: two selections in each group of a unit."""
        moved = sensitivity.in_norm(Norm.L1).amount / self.max_groups
        moved *= 2 * max(self.probability, 1 - self.probability)
        kind = events.PermuteAndFlipSelectionV2 if self.flips else events.ExponentialSelection
        rates = self.rate, self.reach_rate
        return events.Composed(
            tuple(events.Repeated(kind(rate * moved), self.max_groups) for rate in rates)
        )

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Return, for each group, the index of a cell and then that of its interval's reach."""
        rates = self.rate, self.reach_rate
        draw = ChooseCells(
            self.probability, rates, self.margin, self.cells, self.max_groups, self.flips
        )
        return gateway.release(secret, sensitivity.in_norm(Norm.L1), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the largest distance in ranks between the selected cell and the quantile."""
        return shortfall(self.rate, Fraction(self.cells), confidence)


@dataclass(frozen=True, slots=True)
class ChooseCells:
    """The random step: select a cell for each group, then an interval around it."""

    probability: Fraction
    rates: tuple[Fraction, Fraction]
    margin: int
    cells: int
    max_groups: int
    flips: bool

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return two indices for each group, one after the other."""
        if values.size % self.cells:
            raise InvalidValue(
                f"A multiple of {self.cells} counts is expected, one for each cell of a group, "
                f"but {values.size} were given."
            )
        counts, block = values.reshape(-1, self.cells), max(1, BLOCK // self.cells)
        found = [
            self._choose_block(counts[start : start + block].astype(object), entropy)
            for start in range(0, len(counts), block)
        ]
        return np.concatenate([np.zeros((0, 2), dtype=np.int64), *found]).ravel()

    def _choose_block(self, counts: Wide, entropy: Entropy) -> Integers:
        """Return the two indices of each group in a block of groups."""
        scores = cell_scores(counts, self.probability)
        cell = self._choose(self.rates[0], scores, entropy)
        scores = reach_scores(counts, self.probability, cell, self.margin)
        reach = self._choose(self.rates[1], scores, entropy)
        return np.stack([cell, reach], axis=1)

    def _choose(self, rate: Fraction, scores: Wide, entropy: Entropy) -> Integers:
        """Return one index for each row of scores."""
        rate /= self.probability.denominator
        if not self.flips:
            return choose_each(entropy, ManyExponentials(rate, scores))
        # a geometric draw of scale 1 / rate reaches the gap with probability exp(-rate * gap)
        ticks = Geometric(1 / rate).draw(entropy, scores.size).reshape(scores.shape)
        gaps = scores.max(axis=1, keepdims=True) - scores
        return choose_each(entropy, ManyEqual((ticks >= gaps).astype(np.bool_)))


# ------------------------------------------------------------------ noisy counts of a tree
# A cell's rank is a sum of few nodes of the tree, so that its error grows only with the
# logarithm of the number of cells. Before quantiles are read, the noisy counts are corrected
# by least squares, such that children add up to their parent.

Counts = NDArray[np.float64]
"""Estimated counts of the nodes of one level."""

SMALLEST = float(np.nextafter(0, 1))


@dataclass(frozen=True, slots=True)
class TreeQuantile:
    """Noisy counts of all nodes of a tree over a grid, level by level from the top.

    Level i has ``branching**i`` nodes, and the last level is the grid. The root is left out.
    A secret may hold several trees, one after the other. `quantiles` and `extremes` are
    post-processing of one released tree, and cost nothing.

    Guarantee: the release of counts whose squared L2 sensitivity is d2 satisfies zCDP with
    rho = d2 / (2 * variance). A unit with one value changes one node of each level by 1, so
    that its d2 is ``levels``.
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
        if self.levels < 1 or self.branching < 2:  # noqa: PLR2004 - a tree must branch
            raise InvalidValue(
                "A tree must have 1 level or more and 2 branches or more, but "
                f"levels={self.levels}, branching={self.branching} was given."
            )

    @property
    def nodes(self) -> int:
        """Number of counts in a tree."""
        return self._ends[-1]

    def event(self, sensitivity: Sensitivity) -> events.GaussianNoise:
        """Return the event of Gaussian noise with this variance, for the L2 sensitivity."""
        return Gaussian(self.variance).event(self._check_sensitivity(sensitivity))

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Return the counts with noise."""
        checked = self._check_sensitivity(sensitivity)
        return Gaussian(self.variance).release(secret, checked, gateway)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the least integer t with P(abs(noise) <= t) >= confidence, for one node."""
        return Gaussian(self.variance).error(confidence)

    def rank_error(self, confidence: Fraction) -> Fraction:
        """Return the margin of error of the estimated number of units up to a cell.

        That number is a sum of at most (branching - 1) * levels nodes, least squares do not
        make it worse, and the noise is sub-Gaussian (Canonne, Kamath, Steinke 2020,
        corollary 9).
        """
        valid_confidence(confidence)
        square = 2 * self.variance * (self.branching - 1) * self.levels
        return sqrt_bounds(square * log_bounds(2 / (1 - confidence))[1])[1]

    def quantiles(self, noisy: Integers, probabilities: Sequence[Fraction]) -> list[int]:
        """Return the cells of the quantiles of a released tree, one for each probability."""
        if any(not 0 <= probability <= 1 for probability in probabilities):
            raise InvalidValue(
                f"Probabilities must be in [0, 1], but {probabilities} were given."
            )
        counts = self.consistent(noisy)
        return [self._descend(counts, float(probability)) for probability in probabilities]

    def extremes(self, noisy: Integers, confidence: Fraction) -> tuple[int, int]:
        """Return the cells of the lowest and highest ranks that the noise does not hide.

        A rank within `rank_error` of an end may be noise alone. The true minimum and maximum
        are therefore in these cells or outside of the range between them.
        """
        units = max(1, int(noisy[: self.branching].sum()))
        hidden = min(Fraction(1, 2), self.rank_error(confidence) / units)
        least, greatest = self.quantiles(noisy, [hidden, 1 - hidden])
        return least, greatest

    def consistent(self, noisy: Integers) -> list[Counts]:
        """Return, by level, the least-squares counts whose children add up to their parents.

        One pass up the tree averages each node with the sum of its children, weighted by
        their variances; one pass down divides what is missing equally among children.
        """
        if noisy.size != self.nodes:
            raise InvalidValue(f"A tree has {self.nodes} counts, but {noisy.size} were given.")
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
        """Return the cell at ``rank``, a share of the units; negative counts are taken as 0."""
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

    def _check_sensitivity(self, sensitivity: Sensitivity) -> Sensitivity:
        if sensitivity.in_norm(Norm.L2).square < self.levels:
            raise InvalidValue(
                "The L2 sensitivity of a tree is at least the square root of its "
                f"{self.levels} levels, but the square root of {sensitivity.square} was given."
            )
        return sensitivity

    def _sums(self, counts: Counts) -> Counts:
        """Return the sum of the children of each parent."""
        sums: Counts = counts.reshape(-1, self.branching).sum(axis=1)
        return sums

    @property
    def _ends(self) -> list[int]:
        """The index after the last node of each level."""
        return list(accumulate(self.branching**level for level in range(1, self.levels + 1)))
