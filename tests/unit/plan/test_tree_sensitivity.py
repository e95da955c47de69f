"""The sensitivity of a tree, beside the worst of all pairs of neighbours."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from tacit.core.domain import Keys
from tacit.core.privacy_unit import Neighbours
from tacit.core.sensitivity import Norm
from tacit.engines.engine import Leaf, nodes
from tacit.plan.bounded_plan import BoundedPlan, CaseKey, sensitivities
from tacit.plan.source import Source
from tacit.plan.steps import AllOf, WholeSteps
from tacit.plan.tally import TreeTally

GROUPS = (("a",), ("b",), ("c",))
VISITS = Source("visits", (), "visits.person")


def plan(tally: TreeTally, max_groups: int) -> BoundedPlan:
    key = CaseKey("k", (), None, Keys(("a", "b", "c")))
    return BoundedPlan(VISITS, AllOf(()), (key,), max_groups, tally.high, (tally,))


def units(tally: TreeTally, max_groups: int) -> list[np.ndarray]:
    """All that one unit can add: for each of its groups, the cells of its kept rows."""
    of_group = [
        rows
        for count in range(tally.high + 1)
        for rows in combinations_with_replacement(range(tally.cells), count)
    ]
    found = []
    for rows in product(of_group, repeat=len(GROUPS)):
        if sum(bool(part) for part in rows) <= max_groups:
            leaves = [
                Leaf(0, group, cell, 1)
                for group, part in zip(GROUPS, rows, strict=True)
                for cell in part
            ]
            found.append(nodes(0, tally, GROUPS, leaves))
    return found


@pytest.mark.parametrize(
    ("levels", "max_rows", "max_groups"),
    [(1, 1, 1), (2, 1, 1), (1, 2, 2), (1, 1, 3), (2, 1, 2)],
)
@pytest.mark.parametrize("neighbours", Neighbours)
def test_no_pair_of_neighbours_is_farther_apart(
    levels: int, max_rows: int, max_groups: int, neighbours: Neighbours
) -> None:
    tally = TreeTally(WholeSteps(0), levels, 2, max_rows)
    added = np.array(units(tally, max_groups))
    moved = added if neighbours is Neighbours.ADD_REMOVE else added[:, None] - added[None]
    moved = moved.reshape(-1, added.shape[1])
    declared = {
        part.norm: part for part in sensitivities(plan(tally, max_groups), tally, neighbours)
    }
    assert np.abs(moved).sum(axis=1).max() == declared[Norm.L1].amount
    assert (moved**2).sum(axis=1).max() == declared[Norm.L2].square


def test_the_proof_names_the_levels() -> None:
    tally = TreeTally(WholeSteps(0), 3, 2, 2)
    first, _ = sensitivities(plan(tally, 2), tally, Neighbours.ADD_REMOVE)
    assert str(first.proof).splitlines() == [
        "a unit is in at most max_groups groups [max_groups=2]",
        "  each kept row adds 1 to one node a level [levels=3]",
        "    a unit adds between low and high to a group [low=0, high=2]",
    ]
