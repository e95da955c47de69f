from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.domain import Keys, Kind
from tacit.engines.reference import steps
from tacit.numeric.grid import Grid
from tacit.plan.aggregate_tallies import BRANCHINGS, MOST_NODES, finest, grid, shape, tree
from tacit.plan.bounded_plan import ColumnKey
from tacit.plan.steps import ColumnSteps, Ranged
from tacit.plan.tally import TreeTally, width


def number(low: int, high: int) -> Ranged:
    grid = Grid(Fraction(low), Fraction(high), Fraction(1))
    return Ranged(ColumnSteps("x", Kind.INTEGER, grid), low, high, Fraction(1))


@given(st.integers(-1000, 1000), st.integers(0, 100_000), st.integers(1, 12), st.data())
def test_a_number_lies_in_its_cell(low: int, size: int, most: int, data: st.DataObject) -> None:
    made, cells = tree(number(low, low + size), 1, most)
    value = data.draw(st.integers(low - 5, low + size + 5))
    cell = steps(made.cell, {"x": value})
    clamped = min(max(value, low), low + size)
    assert cell is not None
    assert 0 <= cell < made.cells
    assert cells.least(cell) <= clamped <= cells.greatest(cell)


@given(st.integers(-1000, 1000), st.integers(0, 100_000), st.integers(1, 12), st.data())
def test_a_number_lies_in_its_cell_of_a_grid(
    low: int, size: int, most: int, data: st.DataObject
) -> None:
    made, cells = grid(number(low, low + size), 1, most, Fraction(1, 2))
    assert made.levels == 1
    assert made.cells <= 2**most
    value = data.draw(st.integers(low - 5, low + size + 5))
    cell = steps(made.cell, {"x": value})
    clamped = min(max(value, low), low + size)
    assert cell is not None
    assert 0 <= cell < made.cells
    assert cells.least(cell) <= clamped <= cells.greatest(cell)
    assert cells.greatest(made.cells - 1) == low + size


def test_a_number_that_is_null_has_no_cell() -> None:
    assert steps(tree(number(0, 10), 1, 12)[0].cell, {"x": None}) is None
    assert steps(grid(number(0, 10), 1, 12, Fraction(1, 2))[0].cell, {"x": None}) is None


def test_a_short_range_has_a_cell_for_each_number() -> None:
    made, cells = tree(number(0, 120), 3, 12)
    assert cells.steps == 1
    assert cells.least(7) == cells.greatest(7) == 7
    assert made.high == 3
    assert width(made) == made.nodes == sum(made.branching**i for i in (1, 2, 3, 4))


@pytest.mark.parametrize("halvings", range(1, 13))
def test_no_other_shape_has_less_noise_in_a_rank(halvings: int) -> None:
    def noise(each: int, levels: int) -> int:
        return (2**each - 1) * levels**2

    each, levels = shape(halvings)
    assert each * levels >= halvings
    others = [noise(part, -(-halvings // part)) for part in BRANCHINGS]
    assert noise(each, levels) == min(others)


def test_more_groups_have_coarser_trees() -> None:
    def keys(count: int) -> tuple[ColumnKey, ...]:
        return (ColumnKey("k", "k", Kind.INTEGER, Keys(tuple(range(count)))),)

    found = [finest(keys(count)) for count in (1, 100, 10_000, 100_000)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < found[0] == 12
    for count in (1, 100, 10_000):
        made, _ = tree(number(0, 10**6), 1, finest(keys(count)))
        assert count * made.nodes <= 4 * MOST_NODES
    assert finest((ColumnKey("k", "k", Kind.TEXT, None),)) == 8


def test_a_tree_counts_its_nodes() -> None:
    assert TreeTally(number(0, 3).steps, 2, 2, 1).nodes == 6
