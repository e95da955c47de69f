"""Quantiles, the least and the greatest from noisy counts of a tree over a public grid."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.core.noise_event import GaussianNoise
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.confidence import valid_confidence
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.gaussian import Gaussian
from tacit.noise.integers import Integers
from tacit.numeric.exact import log_bounds, sqrt_bounds

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

    def event(self, sensitivity: Sensitivity) -> GaussianNoise:
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
