"""How far the noise of a tree can move a rank, cell by cell."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt
from statistics import NormalDist
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tacit.core import Interval
from tacit.errors import InternalError
from tacit.mechanisms import Gaussian, GridQuantile, Laplace, Mechanism, TreeQuantile
from tacit.noise import Integers, packed
from tacit.plan import ExtremeReading, QuantileReading, TreeCells, TreeTally
from tacit.query.quote import Quote

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


# ------------------------------------------------------------------ tree
# The least and the greatest off a released tree, with what they can be.


def extremes(
    reading: ExtremeReading, quote: Quote, released: list[list[int]], confidence: Fraction
) -> Iterator[tuple[Fraction, Interval]]:
    """The least or greatest cell whose rank is seen; the exact one lies there or beyond.

    With no row beyond the greatest, what is counted there is noise, within its reach: the first
    cell with no more than that beyond it is at most the greatest.
    """
    tally = tree_of(quote, reading.tree)
    noise = RankNoise.of(quote.tallies[reading.tree].mechanism, tally)
    part = Fraction(1) if reading.greatest else Fraction(0)
    reach = noise.reaches(part, 1 - confidence)
    last = tally.cells - 1
    for tree in _each(released[reading.tree], tally.nodes):
        above = _above(noise.reader.consistent(tree)[-1], part)
        if reading.greatest:
            cell = min(_first(-above <= reach), last)
            yield shown(reading.cells, cell, (cell, last))
        else:
            # rows before a cell: those up to the one before it
            before = np.concatenate([[0.0], above[:-1]])
            limit = np.concatenate([[0.0], reach[:-1]])
            cell = last - min(_first((before <= limit)[::-1]), last)
            yield shown(reading.cells, cell, (0, cell))


def tree_of(quote: Quote, place: int) -> TreeTally:
    """The tree at ``place``."""
    tally = quote.bound.plan.tallies[place]
    if not isinstance(tally, TreeTally):
        raise InternalError("An extreme is read off a tree.")
    return tally


def _each(released: list[int], nodes: int) -> Iterator[Integers]:
    """The trees of the groups, one after the other."""
    yield from packed(released).reshape(-1, nodes)


def _above(cells: Numbers, part: Fraction) -> Numbers:
    """By cell, the rows up to it, less ``part`` of all rows."""
    reached = np.cumsum(cells)
    above: Numbers = reached - float(part) * reached[-1]
    return above


def _first(wanted: NDArray[np.bool_]) -> int:
    """The first place where it is so; one beyond the last where it never is."""
    return int(wanted.argmax()) if wanted.any() else wanted.size


def shown(cells: TreeCells, cell: int, around: tuple[int, int]) -> tuple[Fraction, Interval]:
    """The middle of a cell, and the range from one cell to another."""
    value = (cells.least(cell) + cells.greatest(cell)) / 2
    low, high = cells.least(around[0]), cells.greatest(around[1])
    return value, (low - cells.rounding, high + cells.rounding)


# ------------------------------------------------------------------ quantile
# Quantiles that were chosen on a grid, with what they can be.


def quantiles(
    reading: QuantileReading, quote: Quote, released: list[list[int]], confidence: Fraction
) -> Iterator[tuple[Fraction, Interval]]:
    """The quantile of each group, and where that of the kept rows lies."""
    mechanism = quantile_of(quote, reading)
    if mechanism.confidence < confidence:
        raise InternalError("The reach of a quantile was chosen for less confidence.")
    places = released[reading.tree]
    for cell, place in zip(places[::2], places[1::2], strict=True):
        yield shown(reading.cells, cell, mechanism.interval(cell, place))


def quantile_of(quote: Quote, reading: QuantileReading) -> GridQuantile:
    """The mechanism that chooses it."""
    mechanism = quote.tallies[reading.tree].mechanism
    if not isinstance(mechanism, GridQuantile):
        raise InternalError("A quantile is chosen on a grid.")
    return mechanism
