"""The trees of a question: an engine counts their leaves, and the nodes above are sums."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.core.keys import Key
from tacit.noise.integers import Integers
from tacit.plan.tally import TreeTally


@dataclass(frozen=True, slots=True)
class Leaf:
    """How many kept rows of a group fall into a cell of the tree at ``place``, exactly."""

    place: int
    group: tuple[Key, ...]
    cell: int
    rows: int


def nodes(
    place: int,
    tally: TreeTally,
    groups: tuple[tuple[Key, ...], ...],
    leaves: Sequence[Leaf],
) -> Integers:
    """The counts of all nodes, group after group, each level by level from the top.

    A leaf of a group that is not among ``groups`` counts nowhere, as its row's sums do.

    Example:
        >>> from tacit.plan.steps import WholeSteps
        >>> tree = TreeTally(WholeSteps(0), levels=2, branching=2, high=1)
        >>> nodes(0, tree, (("north",),), [Leaf(0, ("north",), 3, 5)]).tolist()
        [0, 5, 0, 0, 0, 5]
    """
    order = {group: row for row, group in enumerate(groups)}
    counts = np.zeros((len(groups), tally.cells), dtype=np.int64)
    for leaf in leaves:
        if leaf.place == place and leaf.group in order:
            counts[order[leaf.group], leaf.cell] += leaf.rows
    levels = [counts]
    for level in reversed(range(1, tally.levels)):
        below = levels[-1].reshape(len(groups), tally.branching**level, tally.branching)
        levels.append(below.sum(axis=2))
    return np.concatenate(levels[::-1], axis=1).ravel()
