"""How far the noise of a tree can move a rank, cell by cell."""

from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt
from statistics import NormalDist
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InternalError
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.tree_quantile import TreeQuantile
from tacit.plan.tally import TreeTally

Numbers = NDArray[np.float64]

LAPLACE_BEND = 4 * log(4 / 3)
"""-log(1 - x) is at most this times x, for x up to a quarter."""


@dataclass(frozen=True, slots=True)
class RankNoise:
    """The noise of ranks that are read off the consistent counts of a tree.

    Guarantee: a rank is a sum of independent noises with known weights; of Gaussian noise its
    law is normal to within a step, and of Laplace noise Chernoff's bound holds.
    Reference: Hay, Rastogi, Miklau, Suciu 2010, theorem 3, for the consistent counts.
    """

    mechanism: Gaussian | Laplace
    reader: TreeQuantile

    @classmethod
    def of(cls, mechanism: Mechanism, tally: TreeTally) -> Self:
        """The noise of a tree that ``mechanism`` released."""
        if not isinstance(mechanism, Gaussian | Laplace):
            raise InternalError(f"Ranks under {type(mechanism).__name__} noise are not known.")
        # the noise that a reader adds is not used: it only reads
        return cls(mechanism, TreeQuantile(Fraction(1), tally.levels, tally.branching))

    def reaches(self, part: Fraction, tail: Fraction) -> Numbers:
        """By cell, what the rows up to it, less ``part`` of all, pass with this probability."""
        weights = np.sqrt(self.weights(part))
        if isinstance(self.mechanism, Gaussian):
            sure = NormalDist().inv_cdf(1 - float(tail))
            reach: Numbers = sure * sqrt(self.mechanism.variance) * weights
            return reach
        scale = float(self.mechanism.scale) * np.maximum(weights, 1e-9)
        # exp(-rate * t) * E[exp(rate * noise)], at a rate of at most half the inverse scale
        doubt = -log(float(tail))
        rate = np.minimum(sqrt(doubt / LAPLACE_BEND), 0.5) / scale
        found: Numbers = doubt / rate + LAPLACE_BEND * rate * scale**2
        return found

    def weights(self, part: Fraction) -> Numbers:
        """By cell, the sum of squared weights of all nodes in its rank, less ``part`` of all.

        Below a node, a rank takes the share ``f`` of the node's own count, and the deviations
        of the nodes under it from their mean, which are independent of it.
        """
        levels, branching = self.reader.levels, self.reader.branching
        shares, noises = np.ones(1), np.zeros(1)
        squares = self._squares()
        for level in reversed(range(levels)):
            # all cells below one node: child by child
            share = np.concatenate([child + shares for child in range(branching)])
            whole = np.repeat(np.arange(branching), shares.size) + np.tile(shares**2, branching)
            noises = np.tile(noises, branching)
            if level:
                noises = noises + squares[level] * (whole - share**2 / branching)
                shares = share / branching
            else:
                away = whole - 2 * float(part) * share + branching * float(part) ** 2
                noises = noises + squares[0] * away
        return noises

    def _squares(self) -> list[float]:
        """By level, the squared weights of the best estimate of a node from those under it."""
        branching = self.reader.branching
        found = [1.0]
        for under in range(1, self.reader.levels):
            size = float(branching**under)
            own = (branching - 1) * size / (branching * size - 1)
            found.append(own**2 + (1 - own) ** 2 * branching * found[-1])
        return found[::-1]
