"""The shape of a tree of counts: a public grid over a number's range, and the nodes above."""

from fractions import Fraction
from math import prod

from tacit.plan.bounded import BoundedKey
from tacit.plan.ranged import Ranged
from tacit.plan.reading import Cells
from tacit.plan.steps import HalvedSteps, Steps
from tacit.plan.tally import TreeTally

FINEST = 12
"""Halvings of a range that a grid has at most: 4,096 cells."""

SECRET_FINEST = 8
"""The same where the groups are secret, and so is how many trees there will be."""

MOST_NODES = 2**20
"""Counts of one tree in all groups together: a second of noise, or some of choosing."""

BRANCHINGS = (1, 2, 3, 4)
"""Halvings of one level: from 2 to 16 children."""


def finest(keys: tuple[BoundedKey, ...]) -> int:
    """How often the range of a number may be halved, by the groups that an answer has.

    Example:
        >>> finest(())
        12
    """
    groups = prod(1 if key.keys is None else len(key.keys.values) for key in keys)
    most = SECRET_FINEST if any(key.keys is None for key in keys) else FINEST
    return max(1, min(most, (MOST_NODES // (2 * groups)).bit_length()))


def shape(halvings: int) -> tuple[int, int]:
    """The halvings of a level, and the levels, with the least noise in a rank.

    A unit moves one node a level, so that noise has a variance of ``levels``; a rank adds up to
    ``branching - 1`` nodes a level.

    Example:
        >>> shape(12), shape(1)
        ((2, 6), (1, 1))
    """
    found = [(each, -(-halvings // each)) for each in BRANCHINGS]
    return min(found, key=lambda part: ((2 ** part[0] - 1) * part[1] ** 2, part[0] * part[1]))


def tree(value: Ranged, max_rows: int, most: int) -> tuple[TreeTally, Cells]:
    """The tree that counts ``value`` on a grid of its own steps, or of coarser ones.

    ``most`` is how often its range may be halved.
    """
    wanted = max(1, (value.high - value.low).bit_length())
    each, levels = shape(min(wanted, most))
    cell, cells = _placed(value, max(0, wanted - each * levels))
    return TreeTally(cell, levels, 2**each, max_rows), cells


def grid(
    value: Ranged, max_rows: int, most: int, quantile: Fraction
) -> tuple[TreeTally, Cells]:
    """The counts of ``value`` on such a grid alone, from which a ``quantile`` is chosen."""
    whole = value.high - value.low
    times = max(0, whole.bit_length() - most)
    cell, cells = _placed(value, times)
    return TreeTally(cell, 1, (whole >> times) + 1, max_rows, quantile=quantile), cells


def _placed(value: Ranged, times: int) -> tuple[Steps, Cells]:
    """The cell of a number, whose steps are halved ``times`` times, and what it stands for."""
    whole = value.above(value.low)
    cell = HalvedSteps(whole.steps, times) if times else whole.steps
    return cell, Cells(value.low, value.high, 2**times, value.step, value.rounding)
