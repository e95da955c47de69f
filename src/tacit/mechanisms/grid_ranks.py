"""How far the cells of a grid, and reaches around one of them, are from a wanted rank."""

from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.noise.choice import Wide
from tacit.noise.integers import Integers

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
