"""How many units must change before a point is the location: the score of a private choice.

Neighbours move each number here by 1 at most, whether one unit is replaced or comes and goes;
``docs/privacy/robust.md`` proves it. All of it is in integers: a rounded sum could move a
number by one more.
"""

import numpy as np

from tacit.noise.integers import Integers

BLOCK = 2**21
"""Residuals that are looked at together: some tens of megabytes."""


def huber_lengths(values: Integers, points: Integers, turn: int) -> Integers:
    """For each point the least number of values to replace so that residuals' scores sum to 0.

    A score is the residual in steps, clamped to ``turn``.

    Example:
        >>> huber_lengths(np.array([0, 1, 2, 90]), np.array([0, 1, 2, 90]), 3).tolist()
        [1, 1, 0, 2]
    """
    ordered = np.sort(values)
    above = _fewest(ordered, points, turn)
    # below the root the same holds for everything with its sign turned
    return np.maximum(above, _fewest(-ordered[::-1], -points, turn))


def _fewest(ordered: Integers, points: Integers, turn: int) -> Integers:
    """How many of the greatest values to lower so that a sum of scores above 0 becomes 0.

    Lowered to the least, a score falls by itself and the turn; the greatest values fall most.
    The sum of so many is a matter of cumulative sums, so the number is found by halving.
    """
    sums = np.concatenate([[0], np.cumsum(ordered)])
    low = np.searchsorted(ordered, points - turn)
    high = np.searchsorted(ordered, points + turn)

    def scores_from(start: Integers) -> Integers:
        """Of the values from place ``start`` on, for each point."""
        first, last = np.maximum(low, start), np.maximum(high, start)
        inner = sums[last] - sums[first] - points * (last - first)
        return np.asarray(inner + turn * (ordered.size - last - first + start))

    least = np.zeros(points.size, dtype=np.int64)
    total, most = scores_from(least), np.full(points.size, ordered.size)
    for _ in range(ordered.size.bit_length()):
        middle = (least + most) // 2
        enough = scores_from(ordered.size - middle) + turn * middle >= total
        least = np.where(enough, least, np.minimum(middle + 1, most))
        most = np.where(enough, middle, most)
    return most


def tukey_lengths(values: Integers, points: Integers, table: Integers) -> Integers:
    """The same for scores ``table[abs(residual)]`` that fall to 0 beyond the table's end.

    Where nothing is near, all scores are 0, and a sum of 0 says nothing. So a point is a
    location only where at least half of the values lie within the table.

    Example:
        >>> scores = np.array([0, 2, 3, 2, 0])
        >>> tukey_lengths(np.array([0, 1, 2, 90]), np.array([1, 50]), scores).tolist()
        [0, 2]
    """
    return np.concatenate(
        [_tukey(values, block, table) for block in _blocks(points, values.size)]
    )


def _tukey(values: Integers, points: Integers, table: Integers) -> Integers:
    residuals = values - points[:, None]
    near = abs(residuals) < table.size
    size = np.where(near, abs(residuals), 0)
    scores = np.sign(residuals) * np.where(near, table[size], 0)
    total, most = scores.sum(axis=1), int(table.max())
    missing = np.maximum(0, -(-values.size // 2) - near.sum(axis=1))
    side = np.where(total > 0, 1, -1)[:, None]
    to_reduce = np.sort(side * scores + most, axis=1)[:, ::-1]
    # so many of what is far must come near anyway; each has a score of 0, and gives ``most``
    left = np.maximum(0, abs(total) - missing * most)
    ahead = missing + _needed(_without(to_reduce, missing, most), left)
    return np.asarray(ahead)


def _without(to_reduce: Integers, missing: Integers, most: int) -> Integers:
    """Rows in falling order, without ``missing`` of their entries that are ``most``."""
    first = (to_reduce > most).sum(axis=1)[:, None]
    places = np.arange(to_reduce.shape[1])
    cut = (places >= first) & (places < first + missing[:, None])
    # at the end of a row an entry of 0 changes nothing
    moved = np.where(cut, -1, to_reduce)
    return np.asarray(np.maximum(np.sort(moved, axis=1)[:, ::-1], 0))


def _needed(to_reduce: Integers, totals: Integers) -> Integers:
    """How many of the first entries of a row add up to its total."""
    summed = np.cumsum(to_reduce, axis=1)
    return np.asarray((summed < totals[:, None]).sum(axis=1) + (totals > 0))


def _blocks(points: Integers, size: int) -> list[Integers]:
    parts = -(-points.size * max(1, size) // BLOCK)
    return np.array_split(points, parts)
