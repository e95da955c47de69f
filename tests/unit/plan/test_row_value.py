"""What rows carry along: few numbers, of which all tallies are made."""

from itertools import combinations_with_replacement

from tacit.core.domain import Bounds, Column, Kind
from tacit.plan.model_columns import Axis
from tacit.plan.steps import (
    AllOf,
    AnyOf,
    ColumnIsNull,
    ComputedSteps,
    Negation,
    ProductSteps,
    non_null_columns,
)
from tacit.plan.tally import RowSumTally, Tally, columns_of, made_from, row_values, value_of

AXES = [Axis.of(Column(name, Kind.FLOAT), Bounds.of(0, 1)) for name in "xyz"]
MATRIX: list[Tally] = [
    RowSumTally(ProductSteps(one.steps, other.steps), -9, 9)
    for one, other in combinations_with_replacement(AXES, 2)
]


def test_a_matrix_of_products_carries_their_factors_each_once() -> None:
    assert row_values(MATRIX) == tuple(axis.steps for axis in AXES)
    sums: list[Tally] = [RowSumTally(axis.steps, -9, 9) for axis in AXES]
    assert row_values([*sums, *MATRIX]) == row_values(MATRIX)


def test_what_is_made_of_factors_computes_nothing_twice() -> None:
    held = {axis.steps: ComputedSteps(f"v{at}") for at, axis in enumerate(AXES)}
    for tally in MATRIX:
        made = made_from(value_of(tally), held)
        assert isinstance(made, ProductSteps)
        assert {type(made.left), type(made.right)} == {ComputedSteps}
    # made of columns alone, as it is without them, each product would compute its axes anew
    columns = {part: ComputedSteps("c") for axis in AXES for part in columns_of(axis.steps)}
    assert not isinstance(made_from(value_of(MATRIX[1]), columns).left, ComputedSteps)  # type: ignore[union-attr]


def test_few_products_are_carried_as_they_are() -> None:
    assert row_values(MATRIX[1:2]) == (value_of(MATRIX[1]),)
    squares = [RowSumTally(ProductSteps(AXES[0].steps, AXES[0].steps), 0, 9)]
    assert row_values(squares) == tuple(columns_of(AXES[0].steps))


def test_a_column_is_there_only_where_it_is_asked_for_by_itself() -> None:
    x, y = (Negation(ColumnIsNull(name, Kind.FLOAT)) for name in "xy")
    assert non_null_columns(AllOf((x, AllOf((y,))))) == {"x", "y"}
    assert non_null_columns(AnyOf((x, y))) == frozenset()
    assert non_null_columns(Negation(AllOf((x,)))) == frozenset()
    assert non_null_columns(AllOf((ColumnIsNull("x", Kind.FLOAT),))) == frozenset()
