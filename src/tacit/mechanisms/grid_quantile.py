"""A quantile of each group on a public grid, and how far around it the exact one lies."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.core.event import Composed, Repeated
from tacit.core.secret import Secret
from tacit.core.selection_event import ExponentialSelection, PermuteAndFlipSelection
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.confidence import valid_confidence
from tacit.mechanisms.exponential import check_choice, shortfall
from tacit.mechanisms.gateway import Gateway
from tacit.noise.choice import ManyEqual, ManyExponentials, Wide, choose_each
from tacit.noise.geometric import Geometric
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy

BLOCK = 2**16
"""Cells that are weighed at once: a few megabytes of integers."""

FAR = 2**200
"""More ranks than any table has."""


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

    def event(self, sensitivity: Sensitivity) -> Composed:
        """Two selections in each group of a unit."""
        moved = sensitivity.in_norm(Norm.L1).amount / self.max_groups
        moved *= 2 * max(self.probability, 1 - self.probability)
        kind = PermuteAndFlipSelection if self.flips else ExponentialSelection
        rates = self.rate, self.reach_rate
        return Composed(tuple(Repeated(kind(rate * moved), self.max_groups) for rate in rates))

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """For each group the place of a cell, and then that of a reach."""
        rates = self.rate, self.reach_rate
        draw = ChooseCells(self.probability, rates, self.margin, self.cells, self.flips)
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
