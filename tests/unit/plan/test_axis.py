"""A column as a model computes with it: integers of one width, whatever the column holds."""

from fractions import Fraction

import pytest

from tacit.core.domain import Bounds, Column, Kind
from tacit.engines.reference import Cell, steps
from tacit.errors import InvalidValue
from tacit.plan.model_columns import REACH, Axis

CENT = Fraction(1, 100)
COLUMNS = [
    (Column("x", Kind.FLOAT), Bounds.of("-0.1", 1e6), Fraction("0.5")),
    (Column("x", Kind.FLOAT), Bounds.of(-1, 1), Fraction(1, 2**18)),
    (Column("x", Kind.INTEGER), Bounds.of(0, 121), Fraction(0)),
    (Column("x", Kind.INTEGER), Bounds.of(-(2**40), 2**40), Fraction(2**21)),
    (Column("x", Kind.DECIMAL, step=CENT), Bounds.of("-10.5", "99.99"), Fraction(0)),
    (Column("x", Kind.DECIMAL, step=CENT), Bounds.of(0, 250_000), CENT * 32),
]


@pytest.mark.parametrize(("column", "bounds", "error"), COLUMNS)
@pytest.mark.parametrize("around", [None, Fraction(0)])
def test_a_number_comes_back_from_its_steps(
    column: Column, bounds: Bounds, error: Fraction, around: Fraction | None
) -> None:
    axis = Axis.of(column, bounds, around)
    assert axis.reach <= REACH
    if around is None:
        assert axis.reach > REACH * 0.98
    for part in range(-2, 13):
        value = bounds.lower + bounds.width * part / 10
        cell: Cell = float(value) if column.kind is Kind.FLOAT else int(value)
        found = steps(axis.steps, {"x": cell})
        assert found is not None
        assert abs(found) <= axis.reach
        assert abs(axis.value(found) - bounds.clamp(Fraction(cell))) <= error


def test_truths_are_the_ends_of_an_axis() -> None:
    axis = Axis.of(Column("x", Kind.BOOLEAN), Bounds.of(0, 1))
    ends = [steps(axis.steps, {"x": truth}) for truth in (False, True, None)]
    assert [None if end is None else axis.value(end) for end in ends] == [0, 1, None]


def test_one_value_is_no_axis() -> None:
    with pytest.raises(InvalidValue, match="only one value"):
        Axis.of(Column("x", Kind.FLOAT), Bounds.of(1, 1))
