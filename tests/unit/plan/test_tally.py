"""Tallies, the numbers that they need of a row, and how answers are read off them."""

from fractions import Fraction

import pytest

from tacit.core.domain import Kind
from tacit.errors import InternalError
from tacit.plan.steps import (
    CaseSteps,
    ColumnIsNull,
    ComputedSteps,
    ConstantCondition,
    HalvedSteps,
    Negation,
    ProductSteps,
    StepsAreNull,
    SumSteps,
    WholeSteps,
)
from tacit.plan.tally import (
    RowSumTally,
    RowTally,
    TotalTally,
    TreeCells,
    TreeTally,
    UnitTally,
    columns_of,
    made_from,
    row_values,
    value_of,
    width,
)

X, Y = ComputedSteps("x"), ComputedSteps("y")
ONE, ZERO = WholeSteps(1), WholeSteps(0)
THERE = Negation(ColumnIsNull("x", Kind.FLOAT))


def test_the_ranges_of_tallies_unless_others_are_said() -> None:
    assert (UnitTally().low, UnitTally().high) == (1, 1)
    assert (
        RowTally(ConstantCondition(True), 7).low,
        RowTally(ConstantCondition(True), 7).high,
    ) == (0, 7)
    assert (TreeTally(X, 1, 2, 7).low, TreeTally(X, 1, 2, 7).quantile) == (0, None)


@pytest.mark.parametrize(("low", "high"), [(1, 5), (-5, -1)])
def test_the_range_of_a_total_holds_0(low: int, high: int) -> None:
    with pytest.raises(InternalError, match="must include 0"):
        TotalTally(X, low, high)


def test_a_total_may_end_at_0() -> None:
    for low, high in ((0, 5), (-5, 0), (0, 0)):
        assert TotalTally(X, low, high).high == high


@pytest.mark.parametrize(
    ("levels", "branching", "cells", "nodes"),
    [(1, 2, 2, 2), (3, 2, 8, 14), (2, 4, 16, 20), (1, 100, 100, 100)],
)
def test_a_tree_counts_in_every_level_but_the_root(
    levels: int, branching: int, cells: int, nodes: int
) -> None:
    tree = TreeTally(X, levels, branching, 1)
    assert (tree.cells, tree.nodes, width(tree)) == (cells, nodes, nodes)


def test_every_other_tally_is_one_number() -> None:
    for tally in (
        UnitTally(),
        RowTally(ConstantCondition(True), 2),
        TotalTally(X, 0, 1),
        RowSumTally(X, 0, 1),
    ):
        assert width(tally) == 1


def test_the_number_that_a_tally_needs_of_a_row() -> None:
    assert value_of(UnitTally()) == value_of(RowTally(ConstantCondition(True), 3)) == ONE
    assert value_of(RowTally(THERE, 3)) == CaseSteps(((THERE, ONE),), ZERO)
    assert value_of(RowTally(ConstantCondition(False), 3)) == CaseSteps(
        ((ConstantCondition(False), ONE),), ZERO
    )
    assert value_of(TotalTally(X, 0, 1)) == value_of(RowSumTally(X, 0, 1)) == X
    assert value_of(TreeTally(SumSteps(X, ONE), 1, 2, 1)) == SumSteps(X, ONE)


def test_what_a_number_is_made_of() -> None:
    there = Negation(StepsAreNull(Y))
    assert columns_of(ONE) == []
    assert columns_of(SumSteps(X, ProductSteps(Y, X))) == [X, Y]
    assert columns_of(HalvedSteps(SumSteps(X, ONE), 3)) == [X]
    assert columns_of(CaseSteps(((there, ONE),), ZERO)) == [Y]
    other = CaseSteps(((ConstantCondition(True), X),), Y)
    assert columns_of(other) == [other]
    assert columns_of(SumSteps(X, Y), [SumSteps(X, Y)]) == [SumSteps(X, Y)]


def test_a_row_carries_each_column_once() -> None:
    square, above = ProductSteps(X, X), SumSteps(X, WholeSteps(-3))
    counted = CaseSteps(((Negation(StepsAreNull(X)), ONE),), ZERO)
    tallies = [RowSumTally(each, -9, 9) for each in (above, square, counted)]
    assert row_values(tallies) == (X,)
    assert row_values([UnitTally(), RowTally(ConstantCondition(True), 2)]) == ()
    assert row_values([RowSumTally(ProductSteps(X, Y), 0, 1)]) == (ProductSteps(X, Y),)
    assert row_values([TreeTally(SumSteps(X, ONE), 1, 2, 1)]) == (SumSteps(X, ONE),)


def test_a_number_is_made_again_of_what_is_carried() -> None:
    carried = {X: ComputedSteps("v0"), Y: ComputedSteps("v1")}
    v0, v1 = carried.values()
    counted = CaseSteps(((Negation(StepsAreNull(Y)), ONE),), ZERO)
    assert made_from(ProductSteps(X, SumSteps(Y, ONE)), carried) == ProductSteps(
        v0, SumSteps(v1, ONE)
    )
    assert made_from(HalvedSteps(X, 3), carried) == HalvedSteps(v0, 3)
    assert made_from(counted, carried) == CaseSteps(((Negation(StepsAreNull(v1)), ONE),), ZERO)
    assert made_from(WholeSteps(7), carried) == WholeSteps(7)
    assert made_from(ComputedSteps("z"), carried) == ComputedSteps("z")


def test_cells_stand_for_as_many_steps_each_and_the_last_for_what_is_left() -> None:
    cells = TreeCells(low=-10, high=13, steps=8, step=Fraction(1, 2), rounding=Fraction(0))
    assert [cells.least(cell) for cell in range(4)] == [-5, -1, 3, Fraction(13, 2)]
    assert [cells.greatest(cell) for cell in range(4)] == [
        Fraction(-3, 2),
        Fraction(5, 2),
        Fraction(13, 2),
        Fraction(13, 2),
    ]
    single = TreeCells(3, 9, 1, Fraction(1), Fraction(0))
    assert single.least(2) == single.greatest(2) == 5
