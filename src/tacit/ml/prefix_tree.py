"""A tree over rows by the sides of public planes on which they lie, and its noisy counts."""

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from hashlib import sha256

from tacit.core.keys import Keys
from tacit.ml.noisy_sums import NoisySums
from tacit.ml.points import Points
from tacit.ml.total_algebra import floats_of
from tacit.noise.integers import Integers
from tacit.plan.bounded import StepsKey
from tacit.plan.expression import Comparison
from tacit.plan.steps import (
    CaseSteps,
    CompareSteps,
    Condition,
    ProductSteps,
    Steps,
    SumSteps,
    WholeSteps,
)
from tacit.plan.tally import TreeTally

LEAST_ROWS = 60
"""A node that counts fewer rows twice is not worth another plane."""

Node = tuple[int, int]
"""A level, from 1 on, and the node's place there; (0, 0) is all rows."""


@dataclass(frozen=True, slots=True)
class PrefixTree:
    """Rows by the first sides on which they lie, of ``depth`` planes through the centre.

    The planes come from a hash: they are public, and sound whatever they are.
    Reference: Charikar 2002 (SimHash); Chang, Ghazi, Kumar, Manurangsi 2021 (the coreset).
    """

    points: Points
    depth: int

    def counts(self, max_rows: int, share: Fraction) -> NoisySums:
        """The rows of every node; a row is in one of each level."""
        tally = TreeTally(self.cell, self.depth, 2, max_rows)
        return NoisySums((tally,), self.depth, share, acute=True)

    @property
    def cell(self) -> Steps:
        """The place of a row among the nodes of the last level."""
        sides: list[Steps] = []
        for level in range(self.depth):
            bit = WholeSteps(2 ** (self.depth - 1 - level))
            sides.append(CaseSteps(((self._beyond(level), bit),), WholeSteps(0)))
        return reduce(SumSteps, sides)

    def leaves(self, released: Integers, noise: float) -> dict[Node, float]:
        """The nodes where the tree ends, and about how many rows each has.

        A node branches while it has rows enough for two, and one without rows is left out.
        """
        enough = max(4 * noise, LEAST_ROWS)
        sizes = floats_of(released).tolist()
        ends: dict[Node, float] = {}
        open_nodes: list[tuple[Node, float]] = [((0, 0), float("inf"))]
        while open_nodes:
            (level, place), size = open_nodes.pop()
            below = [(level + 1, 2 * place), (level + 1, 2 * place + 1)]
            kept = []
            if level < self.depth and size >= 2 * enough:
                # the nodes of a level stand after all those above it
                sized = [(node, sizes[2 ** node[0] - 2 + node[1]]) for node in below]
                kept = [(node, count) for node, count in sized if count >= enough / 2]
            open_nodes += kept
            if not kept:
                ends[level, place] = max(1.0, size if size < float("inf") else 1.0)
        return dict(sorted(ends.items()))

    def key(self, nodes: list[Node]) -> StepsKey:
        """Groups of rows by the node that they are in."""
        places = {node: place for place, node in enumerate(nodes)}
        return StepsKey("node", self._place((0, 0), places), Keys(tuple(range(len(nodes)))))

    def _place(self, node: Node, places: dict[Node, int]) -> Steps:
        """The place of a row's node among ``places``: one plane after the other decides."""
        level, at = node
        if node in places or level == self.depth:
            return WholeSteps(places.get(node))
        left, right = (self._place((level + 1, 2 * at + side), places) for side in (0, 1))
        if left == right:  # no row of either is counted
            return left
        return CaseSteps(((self._beyond(level), right),), left)

    def _beyond(self, level: int) -> Condition:
        """Whether a row lies on the second side of a plane."""
        return CompareSteps(Comparison.AT_LEAST, self._offset(level), WholeSteps(0))

    def _offset(self, level: int) -> Steps:
        """How far a row is from a plane, whose direction is nearly normal."""
        parts: list[Steps] = [
            ProductSteps(WholeSteps(_normal(f"{level} {place}")), axis.steps)
            for place, axis in enumerate(self.points.axes)
        ]
        return reduce(SumSteps, parts)


def _normal(name: str) -> int:
    """A public number, from -128 to 128, like one from a bell: the bits of a hash, counted."""
    digest = sha256(f"tacit plane {name}".encode()).digest()
    return int.from_bytes(digest).bit_count() - 128
