import numpy as np
import pytest

from tacit.errors import InvalidValue
from tacit.stream.factor import ALL, EACH, Memory, Tree, Window, nodes_of
from tacit.testing.mechanism_contract import l1

HORIZON = 21
TREES = [Tree(HORIZON), Tree(HORIZON, 3), Tree(HORIZON, 21)]


@pytest.mark.parametrize("tree", TREES)
def test_the_noise_of_a_total_is_that_of_its_nodes(tree: Tree) -> None:
    draws = np.random.default_rng(3).integers(-100, 100, (HORIZON, 2))
    memory: Memory = ()
    total = np.zeros(2, dtype=np.int64)
    for number, drawn in enumerate(draws):
        noise, memory = tree.next(number, memory, drawn)
        total = total + noise
        # the node that ends at a step has that step's draw
        wanted = sum(draws[last - 1] for _, last in nodes_of(number + 1, tree.branching))
        assert total.tolist() == wanted.tolist()
        assert len(memory) == tree.levels


@pytest.mark.parametrize("tree", TREES)
def test_a_step_is_in_one_node_of_each_level_at_most(tree: Tree) -> None:
    times, wide = range(1, HORIZON + 1), tree.branching
    nodes = {node for time in times for node in nodes_of(time, wide)}
    held = [
        sum(last - wide**level < step <= last for level, last in nodes)
        for step in range(1, HORIZON + 1)
    ]
    assert max(held) == tree.levels
    assert tree.sensitivity(l1(2), 3).amount == 2 * 3 * tree.levels


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("window", [EACH, ALL, Window(4)])
def test_deviations_are_counted_by_nodes(tree: Tree, window: Window) -> None:
    moves = np.zeros((HORIZON, HORIZON))
    for place in range(HORIZON):
        memory: Memory = ()
        for number in range(HORIZON):
            drawn = np.array([int(number == place)])
            noise, memory = tree.next(number, memory, drawn)
            moves[number, place] = noise[0]
    wide = window.steps or HORIZON
    shown = [moves[max(0, t + 1 - wide) : t + 1].sum(axis=0) for t in range(HORIZON)]
    assert tree.spread(window) == pytest.approx(np.linalg.norm(shown, axis=1))


def test_a_tree_of_one_branch_is_refused() -> None:
    with pytest.raises(InvalidValue, match="2 branches"):
        Tree(HORIZON, 1)
