"""The least and the greatest off a released tree, with what they can be."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.core.release import Interval
from tacit.errors import InternalError
from tacit.noise.integers import Integers, packed
from tacit.plan.reading import Cells, ExtremeReading
from tacit.plan.tally import TreeTally
from tacit.query.quote import Quote
from tacit.query.rank import RankNoise

Numbers = NDArray[np.float64]


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


def shown(cells: Cells, cell: int, around: tuple[int, int]) -> tuple[Fraction, Interval]:
    """The middle of a cell, and the range from one cell to another."""
    value = (cells.least(cell) + cells.greatest(cell)) / 2
    low, high = cells.least(around[0]), cells.greatest(around[1])
    return value, (low - cells.rounding, high + cells.rounding)
