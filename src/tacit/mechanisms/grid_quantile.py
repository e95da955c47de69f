"""A quantile of each group on a public grid, and how far around it the exact one lies."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core.event import Composed, Repeated
from tacit.core.secret import Secret
from tacit.core.selection_event import ExponentialSelection, PermuteAndFlipSelection
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.confidence import valid_confidence
from tacit.mechanisms.exponential import check_choice, shortfall
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.grid_ranks import cell_scores, reach_scores, reaches
from tacit.noise.choice import Wide
from tacit.noise.choices import ManyEqual, ManyExponentials, choose_each
from tacit.noise.geometric import Geometric
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy

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
