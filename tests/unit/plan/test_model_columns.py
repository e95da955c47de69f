"""Columns as a model computes with them: axes, scaled columns and classes."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.domain import Bounds, Column, Kind
from tacit.engines.reference import steps
from tacit.errors import InvalidValue
from tacit.plan.model_columns import (
    FINE_STEPS,
    REACH,
    Axis,
    ScaledColumn,
    label_key,
    label_steps,
)
from tacit.plan.steps import (
    ColumnIsNull,
    ColumnIsTrue,
    ColumnOneOf,
    Negation,
    StepsAreNull,
    WholeSteps,
)

AGE = Column("age", Kind.INTEGER)
WARD, TRUE = Column("ward", Kind.TEXT), Column("urgent", Kind.BOOLEAN)


def test_an_axis_of_whole_numbers_by_hand() -> None:
    axis = Axis.of(AGE, Bounds.of(0, 120))
    factor = REACH // 60
    assert (axis.centre, axis.reach, axis.unit) == (60, 60 * factor, Fraction(1, factor))
    assert [steps(axis.steps, {"age": age}) for age in (0, 60, 61, 120, 500, -7, None)] == [
        -60 * factor,
        0,
        factor,
        60 * factor,
        60 * factor,
        -60 * factor,
        None,
    ]


def test_an_odd_range_is_around_the_step_below_its_middle() -> None:
    axis = Axis.of(AGE, Bounds.of(10, 15))
    assert axis.centre == 12
    assert axis.reach == 3 * (REACH // 3)
    assert (REACH, FINE_STEPS) == (2**26, 2**19)


def test_an_axis_may_be_around_another_number() -> None:
    axis = Axis.of(AGE, Bounds.of(0, 120), around=Fraction(20))
    assert axis.centre == 20
    assert axis.reach == 100 * (REACH // 100)
    assert steps(axis.steps, {"age": 20}) == 0


def test_a_row_has_a_number_where_its_column_does() -> None:
    assert Axis.of(AGE, Bounds.of(0, 9)).not_null == Negation(ColumnIsNull("age", Kind.INTEGER))
    truth = Axis.of(TRUE, Bounds.of(0, 1)).not_null
    assert isinstance(truth.part, StepsAreNull)


@pytest.mark.parametrize(
    ("column", "bounds", "told"),
    [
        (AGE, Bounds.of(3, 3), "The bounds of 'age' contain only one value; widen them"),
        (AGE, Bounds.of("0.1", "0.4"), "The bounds of 'age' are less than one step"),
        (
            WARD,
            Bounds.of(0, 1),
            "'ward' is a text column; columns of a model must be numbers or Booleans",
        ),
        (Column("d", Kind.DATE), Bounds.of(0, 1), "'d' is a date column; columns of a model"),
    ],
)
def test_what_is_no_axis_is_refused(column: Column, bounds: Bounds, told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        Axis.of(column, bounds)


def test_a_wide_range_is_in_coarser_steps() -> None:
    fine = Axis.of(AGE, Bounds.of(0, FINE_STEPS * 2 - 1))
    coarse = Axis.of(AGE, Bounds.of(0, FINE_STEPS * 2))
    assert fine.unit * (REACH // (FINE_STEPS)) == 1
    assert coarse.unit * (REACH // (FINE_STEPS // 2)) == 2


SCALED = st.tuples(
    st.fractions(-50, 150, max_denominator=100), st.fractions(0, 60, max_denominator=100)
)


@given(SCALED, st.integers(-10, 130))
def test_a_scaled_column_is_the_column_less_a_mean_over_a_deviation(
    released: tuple[Fraction, Fraction], age: int
) -> None:
    mean, scale = released
    scaled = ScaledColumn.of(AGE, Bounds.of(0, 120), mean, scale)
    bounds = Bounds.of(-3, 3)
    axis = Axis.of(scaled, bounds)
    found = steps(axis.steps, {"age": age})
    assert found is not None
    assert abs(found) <= axis.reach <= REACH
    if scale >= 1:
        wanted = bounds.clamp((min(max(age, 0), 120) - mean) / scale)
        assert abs(axis.value(found) - wanted) <= bounds.width / FINE_STEPS


@given(SCALED)
def test_the_steps_of_a_scaled_column_do_not_depend_on_what_was_released(
    released: tuple[Fraction, Fraction],
) -> None:
    one = Axis.of(ScaledColumn.of(AGE, Bounds.of(0, 120), *released), Bounds.of(-3, 3))
    other = Axis.of(
        ScaledColumn.of(AGE, Bounds.of(0, 120), Fraction(60), Fraction(30)), Bounds.of(-3, 3)
    )
    assert (one.reach, one.centre, one.unit) == (other.reach, other.centre, other.unit)


def test_a_scaled_column_has_no_bounds_of_its_own() -> None:
    scaled = ScaledColumn.of(AGE, Bounds.of(0, 120), Fraction(40), Fraction(20))
    assert (scaled.name, scaled.kind, scaled.bounds) == ("age", Kind.FLOAT, None)
    assert (scaled.own, scaled.within) == (AGE, Bounds.of(0, 120))
    assert (scaled.mean, scaled.scale) == (40, 20)


def test_a_class_is_its_place_in_a_public_list() -> None:
    made = label_steps(WARD, ["north", "south"])
    assert made.whens == (
        (ColumnOneOf("ward", Kind.TEXT, ("north",)), WholeSteps(0)),
        (ColumnOneOf("ward", Kind.TEXT, ("south",)), WholeSteps(1)),
    )
    assert made.otherwise == WholeSteps(None)
    assert [steps(made, {"ward": name}) for name in ("south", "north", "west", None)] == [
        1,
        0,
        None,
        None,
    ]
    key = label_key(WARD, ["north", "south", "east"])
    assert (key.name, key.keys.values) == ("class", (0, 1, 2))


def test_truths_are_classes_too() -> None:
    made = label_steps(TRUE, [0, 1])
    true = ColumnIsTrue("urgent")
    assert made.whens == ((Negation(true), WholeSteps(0)), (true, WholeSteps(1)))


@pytest.mark.parametrize(("column", "classes"), [(WARD, [1, 2]), (AGE, ["a"]), (AGE, [1, "a"])])
def test_classes_are_of_the_kind_of_their_column(column: Column, classes: list) -> None:  # type: ignore[type-arg]
    expected = f"The classes of '{column.name}' must have its kind, {column.kind.value}"
    with pytest.raises(InvalidValue, match=expected):
        label_steps(column, classes)


def test_equal_classes_are_written_in_one_form() -> None:
    """To Python, 0, 0.0 and False are equal, and statements are cached by their plans."""
    pay, cost = Column("pay", Kind.FLOAT), Column("cost", Kind.DECIMAL, step=Fraction(1, 100))
    for column in (AGE, pay, cost):
        forms = {
            repr(label_steps(column, each)) for each in ((0, 1), (0.0, 1.0), (False, True))
        }
        assert len(forms) == 1
    (first, _), (second, _) = label_steps(cost, [0.1, 2]).whens
    assert first == ColumnOneOf("cost", Kind.DECIMAL, (Fraction(1, 10),))
    assert second == ColumnOneOf("cost", Kind.DECIMAL, (2,))


@pytest.mark.parametrize("label", [0.5, float("nan"), float("inf"), None, [1], 2**62])
def test_classes_that_no_engine_can_compare_are_refused(label: object) -> None:
    with pytest.raises(InvalidValue):
        label_steps(AGE, [1, label])  # type: ignore[list-item]
