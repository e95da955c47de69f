from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.grid_quantiles import TreeQuantile
from tacit.numeric.entropy import SystemEntropy

SHAPES = [(1, 2), (2, 2), (3, 2), (2, 3), (2, 5)]
TREE = TreeQuantile(Fraction(25), levels=4, branching=4)
FOUR_LEVELS = Sensitivity(Fraction(4), Norm.L2, Rule("a unit has one value"))


def matrix(tree: TreeQuantile) -> np.ndarray:
    """Which cells each node counts."""
    rows = []
    for level in range(1, tree.levels + 1):
        width = tree.branching ** (tree.levels - level)
        rows.append(np.kron(np.eye(tree.branching**level), np.ones((1, width))))
    return np.vstack(rows).astype(np.int64)


def test_a_unit_moves_a_tree_by_the_root_of_its_levels() -> None:
    assert set((matrix(TREE) ** 2).sum(axis=0).tolist()) == {TREE.levels}
    assert TREE.event(FOUR_LEVELS).sensitivity_square == TREE.levels
    with pytest.raises(InvalidValue, match="levels"):
        TREE.event(Sensitivity(Fraction(3), Norm.L2, Rule("a level was forgotten")))
    with pytest.raises(InvalidValue):
        TREE.event(Sensitivity(Fraction(4), Norm.L1, Rule("another norm")))


@pytest.mark.parametrize(("levels", "branching"), SHAPES)
@given(data=st.data())
def test_consistent_counts_are_the_least_squares(
    levels: int, branching: int, data: st.DataObject
) -> None:
    tree = TreeQuantile(Fraction(1), levels, branching)
    integers = st.integers(-(10**6), 10**6)
    noisy = np.array(data.draw(st.lists(integers, min_size=tree.nodes, max_size=tree.nodes)))
    design = matrix(tree).astype(float)
    cells = np.linalg.lstsq(design, noisy.astype(float), rcond=None)[0]
    assert np.allclose(np.concatenate(tree.consistent(noisy)), design @ cells, atol=1e-4)


@given(
    st.lists(st.integers(0, 50), min_size=256, max_size=256).filter(any),
    st.lists(st.fractions(Fraction(1, 1000), 1, max_denominator=1000), min_size=1, max_size=5),
)
def test_without_noise_a_quantile_is_the_first_cell_that_reaches_it(
    cells: list[int], probabilities: list[Fraction]
) -> None:
    reached = np.cumsum(cells)
    found = TREE.quantiles(matrix(TREE) @ np.array(cells), probabilities)
    for cell, probability in zip(found, probabilities, strict=True):
        wanted = float(probability * int(reached[-1]))
        assert reached[cell] >= wanted - 1e-6
        assert reached[cell] - cells[cell] <= wanted + 1e-6


def released(cells: np.ndarray, trees: int) -> np.ndarray:
    secret = Secret(np.tile(matrix(TREE) @ cells, trees))
    gateway = LiveGateway(SystemEntropy(b"test"))
    return TREE.release(secret, FOUR_LEVELS, gateway).reshape(trees, -1)


def test_ranks_are_within_their_error_and_not_within_a_tenth_of_it() -> None:
    cells = np.zeros(256, dtype=np.int64)
    cells[60:180] = 100
    true = np.cumsum(cells)
    ranks = np.array([np.cumsum(TREE.consistent(tree)[-1]) for tree in released(cells, 400)])
    off = np.abs(ranks - true)[:, :-1]
    error = float(TREE.rank_error(Fraction("0.99")))
    assert (off <= error).mean(axis=0).min() >= 0.99 - 4 * (0.99 * 0.01 / 400) ** 0.5
    assert (off <= error / 10).mean() < 0.9


def test_a_rank_errs_by_the_noise_of_its_nodes() -> None:
    for tree, nodes in ((TREE, 3 * 4), (TreeQuantile(Fraction(7), levels=3, branching=2), 3)):
        error = tree.rank_error(Fraction("0.99"))
        wanted = sqrt(2 * tree.variance * nodes * log(200))
        assert float(error) == pytest.approx(wanted, rel=1e-12)
    assert TREE.error(Fraction("0.95")) == 10  # of one node


def test_the_median_is_found_through_the_noise() -> None:
    cells = np.zeros(256, dtype=np.int64)
    cells[60:180] = 1000
    medians = [TREE.quantiles(tree, [Fraction(1, 2)])[0] for tree in released(cells, 200)]
    assert max(abs(median - 119) for median in medians) <= 1


def test_extremes_stay_inside_the_data_where_the_bare_ends_are_noise() -> None:
    cells = np.zeros(256, dtype=np.int64)
    cells[60:180] = 100
    trees = released(cells, 200)
    seen = np.array([TREE.extremes(tree, Fraction("0.999")) for tree in trees])
    assert (seen[:, 0] >= 60).all()
    assert (seen[:, 1] < 180).all()
    assert seen[:, 0].max() < 66
    bare = np.array([TREE.quantiles(tree, [Fraction(0), Fraction(1)]) for tree in trees])
    assert (bare[:, 0] < 60).mean() > 0.9
    assert (bare[:, 1] >= 180).mean() > 0.9


@pytest.mark.parametrize("others", [-39, -40, -900])
def test_extremes_leave_out_what_the_noise_may_hide_of_one_unit(others: int) -> None:
    tree = TreeQuantile(Fraction(1, 10**4), levels=1, branching=3)
    noisy, confidence = np.array([1, 39, others]), Fraction("0.95")
    assert Fraction(1, 40) < tree.rank_error(confidence) < Fraction(2, 40)
    assert tree.extremes(noisy, confidence) == (1, 1)
    more = np.array([2, 78, -78])  # of two units, half as large a share is hidden
    assert tree.extremes(more, confidence) == (0, 1)


def test_nobody_at_all_still_gives_cells() -> None:
    found = TREE.quantiles(np.zeros(TREE.nodes, dtype=np.int64), [Fraction(0), Fraction(1)])
    assert found == [0, 255]
    least, greatest = TREE.extremes(np.full(TREE.nodes, -7), Fraction("0.9"))
    assert least == greatest


@pytest.mark.parametrize(("levels", "branching"), [(0, 2), (1, 1), (-1, 4)])
def test_a_tree_without_levels_or_branches_is_refused(levels: int, branching: int) -> None:
    with pytest.raises(InvalidValue):
        TreeQuantile(Fraction(1), levels, branching)


def test_another_number_of_counts_or_no_probability_is_refused() -> None:
    with pytest.raises(InvalidValue):
        TREE.quantiles(np.zeros(TREE.nodes + 1, dtype=np.int64), [Fraction(1, 2)])
    with pytest.raises(InvalidValue):
        TREE.quantiles(np.zeros(TREE.nodes, dtype=np.int64), [Fraction(3, 2)])
    with pytest.raises(InvalidValue):
        TREE.rank_error(Fraction(1))
