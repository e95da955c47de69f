"""MIN and MAX are read off a tree of counts, up to what its noise can hide."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from ward import CATALOG, asked, field

from tacit.core.loss import Loss
from tacit.errors import InternalError
from tacit.mechanisms.additive_noise import Gaussian
from tacit.plan.plan import Greatest
from tacit.plan.steps import WholeSteps
from tacit.plan.tally import ExtremeReading, TreeCells, TreeTally
from tacit.query.pricing import price
from tacit.query.quantile_intervals import (
    Numbers,
    RankNoise,
    cell_estimate,
    extremes,
    tree_of,
)
from tacit.query.quote import Quote

F = Fraction
SURE = F(19, 20)
CELLS = TreeCells(low=10, high=17, steps=2, step=F(1, 2), rounding=F(1, 8))
TREE = TreeTally(WholeSteps(0), levels=1, branching=4, high=1)
REACHES = (2.0, 3.0, 4.0, 5.0)


def grid() -> Quote:
    """A quote for a grid of four cells with Gaussian noise."""
    made = price(asked(Greatest(field("stay"))), CATALOG, Loss.zcdp(1))
    plan = replace(made.bound.plan, tallies=(TREE,))
    (part,) = made.tallies
    noise = replace(part, mechanism=Gaussian(F(4)))
    return replace(made, bound=replace(made.bound, plan=plan), tallies=(noise,))


QUOTE = grid()


@pytest.fixture(autouse=True)
def asked_reaches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Fraction, Fraction]]:
    """The margins of ranks are whole numbers; the list has what was asked for."""
    found: list[tuple[Fraction, Fraction]] = []

    def reaches(_: RankNoise, part: Fraction, tail: Fraction) -> Numbers:
        found.append((part, tail))
        return np.array(REACHES if part == 0 else REACHES[::-1])

    monkeypatch.setattr(RankNoise, "reaches", reaches)
    return found


def places(*, greatest: bool, counts: list[int]) -> list[int]:
    """The cells whose middles are told as the extremes of groups with these counts."""
    reading = ExtremeReading(0, greatest=greatest, cells=CELLS)
    found = []
    for value, interval in extremes(reading, QUOTE, [counts], SURE):
        (cell,) = (cell for cell in range(4) if cell_estimate(CELLS, cell, (0, 3))[0] == value)
        around = (cell, 3) if greatest else (0, cell)
        assert interval == cell_estimate(CELLS, cell, around)[1]
        found.append(cell)
    return found


@pytest.mark.parametrize(
    ("counts", "cell"),
    [
        ([9, 9, 9, 9], 0),
        ([0, 9, 9, 9], 1),
        ([2, 9, 9, 9], 1),  # as many rows as the margin may be noise
        ([3, 9, 9, 9], 0),
        ([1, 2, 9, 9], 2),
        ([1, 3, 9, 9], 1),
        ([0, 0, 4, 9], 3),
        ([0, 0, 5, 9], 2),
        ([0, 0, 0, 0], 3),
        ([-7, 0, 0, 0], 3),
        ([9, -9, 0, 0], 3),
    ],
)
def test_the_least_is_the_last_cell_before_which_all_may_be_noise(
    counts: list[int], cell: int
) -> None:
    assert places(greatest=False, counts=counts) == [cell]


@pytest.mark.parametrize(
    ("counts", "cell"),
    [
        ([9, 9, 9, 9], 3),
        ([9, 9, 9, 0], 2),
        ([9, 9, 9, 3], 2),
        ([9, 9, 9, 4], 3),
        ([9, 9, 4, 0], 1),
        ([9, 9, 5, 0], 2),
        ([9, 5, 0, 0], 0),
        ([0, 0, 0, 0], 0),
        ([9, 9, 9, -9], 1),
    ],
)
def test_the_greatest_is_the_first_cell_beyond_which_all_may_be_noise(
    counts: list[int], cell: int
) -> None:
    assert places(greatest=True, counts=counts) == [cell]


def test_each_group_has_a_tree_of_its_own() -> None:
    groups = [9, 9, 9, 9, 0, 9, 9, 0]
    assert places(greatest=False, counts=groups) == [0, 1]
    assert places(greatest=True, counts=groups) == [3, 2]


def test_all_of_the_doubt_lies_on_one_side(
    asked_reaches: list[tuple[Fraction, Fraction]],
) -> None:
    for greatest in (False, True):
        places(greatest=greatest, counts=[0, 0, 0, 0])
    assert asked_reaches == [(0, 1 - SURE), (1, 1 - SURE)]


def test_a_cell_is_told_by_its_middle_and_its_range_with_rounding() -> None:
    assert cell_estimate(CELLS, 1, (0, 2)) == (F(25, 4), (F(39, 8), F(61, 8)))
    assert cell_estimate(CELLS, 3, (3, 3)) == (F(33, 4), (F(63, 8), F(69, 8)))


def test_what_is_no_tree_is_our_mistake() -> None:
    counted = price(asked(), CATALOG, Loss.zcdp(1))
    with pytest.raises(InternalError, match="need a TreeTally, but tally 0 is a RowTally"):
        tree_of(counted, 0)
    assert tree_of(QUOTE, 0) is TREE
