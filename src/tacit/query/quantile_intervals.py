"""Confidence intervals of quantiles, minima and maxima.

MIN and MAX are read off a released tree of counts. `RankNoise` computes, for each cell of the
grid, how far noise can move the rank of that cell; the minimum or maximum is the last cell
whose rank can be distinguished from noise. Quantiles are chosen by `GridQuantile`, which
computes an interval of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt
from statistics import NormalDist
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tacit.core import ClosedInterval
from tacit.errors import InternalError
from tacit.mechanisms import Gaussian, GridQuantile, Laplace, Mechanism, TreeQuantile
from tacit.noise import Integers, integer_array
from tacit.plan import ExtremeReading, QuantileReading, TreeCells, TreeTally
from tacit.query.quote import Quote

Numbers = NDArray[np.float64]

LAPLACE_BEND = 4 * log(4 / 3)
"""Constant c with -log(1 - x) <= c * x for x from 0 to 1/4."""


@dataclass(frozen=True, slots=True)
class RankNoise:
    """The noise of ranks that are computed from the consistent counts of a tree.

    Consistent counts are the least-squares estimate in which each node is the sum of its
    children.

    Guarantee: the noise of a rank is a weighted sum of independent noises with known weights.
    With Gaussian noise its distribution is normal to within a step; with Laplace noise the
    Chernoff bound is used.
    Reference: Hay, Rastogi, Miklau, Suciu 2010, theorem 3, for the consistent counts.
    """

    mechanism: Gaussian | Laplace
    reader: TreeQuantile

    @classmethod
    def of(cls, mechanism: Mechanism, tally: TreeTally) -> Self:
        """Return the rank noise of a tree that ``mechanism`` released."""
        if not isinstance(mechanism, Gaussian | Laplace):
            raise InternalError(
                f"The rank noise of {type(mechanism).__name__} is not implemented."
            )
        # the mechanism TreeQuantile is used only to compute consistent counts, without noise
        return cls(mechanism, TreeQuantile(Fraction(1), tally.levels, tally.branching))

    def reaches(self, part: Fraction, tail: Fraction) -> Numbers:
        """Return, for each cell, the value that rank noise exceeds with probability ``tail``.

        The rank of a cell is the number of rows up to it minus ``part`` of all rows.
        """
        weights = np.sqrt(self.weights(part))
        if isinstance(self.mechanism, Gaussian):
            sure = NormalDist().inv_cdf(1 - float(tail))
            reach: Numbers = sure * sqrt(self.mechanism.variance) * weights
            return reach
        scale = float(self.mechanism.scale) * np.maximum(weights, 1e-9)
        # Chernoff bound: exp(-rate * t) * E[exp(rate * noise)], with a rate of at most half the
        # inverse scale
        doubt = -log(float(tail))
        rate = np.minimum(sqrt(doubt / LAPLACE_BEND), 0.5) / scale
        found: Numbers = doubt / rate + LAPLACE_BEND * rate * scale**2
        return found

    def weights(self, part: Fraction) -> Numbers:
        """Return, for each cell, the sum of squared weights of all nodes in its rank.

        The rank of a cell is the number of rows up to it minus ``part`` of all rows. The sums
        are computed from the leaves up. Of the count of a node, a rank of a cell below it takes
        a certain share, plus the deviations of the node's children from their mean; these
        deviations are independent of the node's count, so that the variances add up.
        """
        levels, branching = self.reader.levels, self.reader.branching
        shares, noises = np.ones(1), np.zeros(1)
        squares = self._squares()
        for level in reversed(range(levels)):
            # all cells below one node, child by child
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
        """Return, for each level, the squared weights of the best estimate of a node's count.

        The estimate combines the node's own noisy count with the counts of the nodes below it.
        """
        branching = self.reader.branching
        found = [1.0]
        for under in range(1, self.reader.levels):
            size = float(branching**under)
            own = (branching - 1) * size / (branching * size - 1)
            found.append(own**2 + (1 - own) ** 2 * branching * found[-1])
        return found[::-1]


# MIN and MAX ---------------------------------------------------------------------------------


def extremes(
    reading: ExtremeReading, quote: Quote, released: list[list[int]], confidence: Fraction
) -> Iterator[tuple[Fraction, ClosedInterval]]:
    """Yield the minimum or maximum of each group and its interval, which is one-sided.

    Beyond the exact maximum there are no rows, so that the count there is only noise, within
    its margin. The first cell beyond which the count is within this margin is therefore at most
    the exact maximum, which lies in that cell or above.
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
            yield cell_estimate(reading.cells, cell, (cell, last))
        else:
            # the rows before a cell are the rows up to the preceding cell
            before = np.concatenate([[0.0], above[:-1]])
            limit = np.concatenate([[0.0], reach[:-1]])
            cell = last - min(_first((before <= limit)[::-1]), last)
            yield cell_estimate(reading.cells, cell, (0, cell))


def tree_of(quote: Quote, place: int) -> TreeTally:
    """Return the tree tally with the index ``place``."""
    tally = quote.bound.plan.tallies[place]
    if not isinstance(tally, TreeTally):
        raise InternalError(
            f"MIN and MAX need a TreeTally, but tally {place} is a {type(tally).__name__}."
        )
    return tally


def _each(released: list[int], nodes: int) -> Iterator[Integers]:
    """Yield the tree of each group."""
    yield from integer_array(released).reshape(-1, nodes)


def _above(cells: Numbers, part: Fraction) -> Numbers:
    """Return, for each cell, the number of rows up to it minus ``part`` of all rows."""
    reached = np.cumsum(cells)
    above: Numbers = reached - float(part) * reached[-1]
    return above


def _first(wanted: NDArray[np.bool_]) -> int:
    """Return the first index with a true value; the length of the array if there is none."""
    return int(wanted.argmax()) if wanted.any() else wanted.size


def cell_estimate(
    cells: TreeCells, cell: int, around: tuple[int, int]
) -> tuple[Fraction, ClosedInterval]:
    """Return the middle of ``cell``, and the range between the two cells ``around``."""
    value = (cells.least(cell) + cells.greatest(cell)) / 2
    low, high = cells.least(around[0]), cells.greatest(around[1])
    return value, (low - cells.rounding, high + cells.rounding)


# Quantiles -----------------------------------------------------------------------------------


def quantiles(
    reading: QuantileReading, quote: Quote, released: list[list[int]], confidence: Fraction
) -> Iterator[tuple[Fraction, ClosedInterval]]:
    """Yield the quantile of each group, and an interval for the quantile of its kept rows."""
    mechanism = quantile_of(quote, reading)
    if mechanism.confidence < confidence:
        raise InternalError("The interval of a quantile was chosen for a lower confidence.")
    places = released[reading.tree]
    for cell, place in zip(places[::2], places[1::2], strict=True):
        yield cell_estimate(reading.cells, cell, mechanism.interval(cell, place))


def quantile_of(quote: Quote, reading: QuantileReading) -> GridQuantile:
    """Return the mechanism that chooses the quantile of ``reading``."""
    mechanism = quote.tallies[reading.tree].mechanism
    if not isinstance(mechanism, GridQuantile):
        raise InternalError(
            "A quantile needs a GridQuantile, but its mechanism is a "
            f"{type(mechanism).__name__}."
        )
    return mechanism
