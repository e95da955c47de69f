"""From what the analyst wrote to what an engine computes: the steps and the conditions."""

from datetime import date
from fractions import Fraction

import pytest
from ward import ROWS, c, field

from tacit.core.domain import Kind
from tacit.errors import InvalidValue, MissingBound
from tacit.plan.expression import (
    And,
    Arithmetic,
    Case,
    Compare,
    Comparison,
    DatePart,
    DatePartName,
    Expression,
    Field,
    IsNull,
    Like,
    Not,
    OneOf,
    Operation,
    Or,
)
from tacit.plan.lowering import condition, number
from tacit.plan.steps import (
    AllOf,
    AnyOf,
    CaseSteps,
    ColumnIsNull,
    ColumnIsTrue,
    ColumnOneOf,
    ColumnSteps,
    CompareColumn,
    CompareColumns,
    CompareSteps,
    ComputedColumn,
    ComputedSteps,
    Condition,
    ConstantCondition,
    Negation,
    ProductSteps,
    Ranged,
    StepsAreNull,
    StepsOneOf,
    SumSteps,
    WholeSteps,
)
from tacit.plan.type_check import ColumnScope

COST, STAY, HEAT, WARD, URGENT = map(field, ("cost", "stay", "heat", "ward", "urgent"))
DAY, SEEN, NOTE, FREE = map(field, ("day", "seen", "note", "free"))
EQUAL, UNEQUAL, LESS, MORE = (
    Comparison.EQUAL,
    Comparison.UNEQUAL,
    Comparison.LESS,
    Comparison.MORE,
)
AT_MOST, AT_LEAST = Comparison.AT_MOST, Comparison.AT_LEAST
HELD = ComputedColumn.of("below.n", Ranged(ComputedSteps("below.n"), 1, 5, Fraction(1)))
ABOVE = ColumnScope((HELD, *ROWS.columns))
BELOW = Field("below.n")
STAY_STEPS = ColumnSteps("visits.stay", Kind.INTEGER, ROWS["stay"].grid())
COST_STEPS = ColumnSteps("visits.cost", Kind.DECIMAL, ROWS["cost"].grid())


def facts(expression: Expression) -> tuple[int, int, Fraction, Fraction]:
    found = number(expression, ABOVE)
    return found.low, found.high, found.step, found.rounding


NUMBERS: list[tuple[Expression, tuple[int, int, Fraction, Fraction]]] = [
    (STAY, (1, 30, Fraction(1), Fraction(0))),
    (COST, (-1000, 100_000, Fraction(1, 100), Fraction(0))),
    (c(7), (7, 7, Fraction(1), Fraction(0))),
    (c(Fraction(1, 4)), (1, 1, Fraction(1, 4), Fraction(0))),
    (c(None), (0, 0, Fraction(1), Fraction(0))),
    (BELOW, (1, 5, Fraction(1), Fraction(0))),
    (Arithmetic(Operation.ADD, STAY, c(2)), (3, 32, Fraction(1), Fraction(0))),
    (Arithmetic(Operation.SUBTRACT, STAY, c(2)), (-1, 28, Fraction(1), Fraction(0))),
    (Arithmetic(Operation.MULTIPLY, STAY, c(-2)), (-60, -2, Fraction(1), Fraction(0))),
    (
        Arithmetic(Operation.ADD, STAY, COST),
        (100 - 1000, 3000 + 100_000, Fraction(1, 100), Fraction(0)),
    ),
    (
        Arithmetic(Operation.SUBTRACT, DAY, c(date(2026, 1, 1))),
        (0, 364, Fraction(1), Fraction(0)),
    ),
    (DatePart(DatePartName.QUARTER, DAY), (1, 4, Fraction(1), Fraction(0))),
    (
        Case(((URGENT, STAY), (Not(URGENT), c(100))), c(-3)),
        (-3, 100, Fraction(1), Fraction(0)),
    ),
    (
        Case(((URGENT, c(Fraction(1, 2))),), c(2)),
        (1, 4, Fraction(1, 2), Fraction(0)),
    ),
]


@pytest.mark.parametrize(("expression", "wanted"), NUMBERS)
def test_a_number_has_the_range_that_its_parts_allow(
    expression: Expression, wanted: tuple[int, int, Fraction, Fraction]
) -> None:
    assert facts(expression) == wanted


def test_a_float_is_rounded_to_its_grid_by_half_a_step() -> None:
    low, high, step, rounding = facts(HEAT)
    assert rounding == step / 2 > 0
    assert (low * step, high * step) == (30, 45)
    both = facts(Case(((URGENT, HEAT),), c(1)))
    assert both[3] == rounding


def test_the_steps_of_a_case_are_those_of_its_parts() -> None:
    found = number(Case(((URGENT, STAY),), c(None)), ROWS)
    assert found.steps == CaseSteps(
        ((ColumnIsTrue("visits.urgent"), STAY_STEPS),), WholeSteps(None)
    )
    assert (found.low, found.high) == (0, 30)


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        (c(True), "A number is expected here"),
        (c("x"), "A number is expected here"),
        (DAY, "'visits.day' is a date column; a number is expected, such as a number of days"),
        (WARD, r"Column 'visits\.ward' holds texts, and this needs numbers"),
        (URGENT, r"Column 'visits\.urgent' holds booleans, and this needs numbers"),
        (Compare(MORE, STAY, c(1)), "A number is expected here"),
    ],
)
def test_what_is_no_number_is_refused(expression: Expression, told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        number(expression, ROWS)


def test_a_number_without_bounds_is_refused() -> None:
    with pytest.raises(MissingBound, match=r"'visits\.free' has no bounds"):
        number(FREE, ROWS)


def beside(comparison: Comparison, value: object) -> CompareColumn:
    return CompareColumn(comparison, "visits.stay", Kind.INTEGER, value)  # type: ignore[arg-type]


HALF = Fraction(7, 2)
CONDITIONS: list[tuple[Expression, Condition]] = [
    (Compare(MORE, STAY, c(7)), beside(MORE, 7)),
    (Compare(MORE, c(7), STAY), beside(LESS, 7)),
    (Compare(AT_MOST, c(7), STAY), beside(AT_LEAST, 7)),
    # whole numbers beside a fraction: the nearest whole number that decides alike
    (Compare(LESS, STAY, c(HALF)), beside(LESS, 4)),
    (Compare(AT_LEAST, STAY, c(HALF)), beside(AT_LEAST, 4)),
    (Compare(MORE, STAY, c(HALF)), beside(MORE, 3)),
    (Compare(AT_MOST, STAY, c(HALF)), beside(AT_MOST, 3)),
    (Compare(LESS, STAY, c(-HALF)), beside(LESS, -3)),
    (Compare(MORE, STAY, c(-HALF)), beside(MORE, -4)),
    (Compare(EQUAL, STAY, c(Fraction(4))), beside(EQUAL, 4)),
    (Compare(UNEQUAL, STAY, c(Fraction(4))), beside(UNEQUAL, 4)),
    (
        Compare(MORE, COST, c(HALF)),
        CompareColumn(MORE, "visits.cost", Kind.DECIMAL, HALF),
    ),
    (
        Compare(EQUAL, WARD, c("north")),
        CompareColumn(EQUAL, "visits.ward", Kind.TEXT, "north"),
    ),
    (
        Compare(UNEQUAL, WARD, NOTE),
        CompareColumns(UNEQUAL, "visits.ward", "visits.note", Kind.TEXT),
    ),
    (Compare(LESS, DAY, SEEN), CompareColumns(LESS, "visits.day", "visits.seen", Kind.DATE)),
    (Compare(EQUAL, c("a"), c("b")), ConstantCondition(False)),
    (
        IsNull(Compare(MORE, STAY, c(1))),
        StepsAreNull(
            CaseSteps(
                (
                    (beside(MORE, 1), WholeSteps(1)),
                    (Negation(beside(MORE, 1)), WholeSteps(0)),
                ),
                WholeSteps(None),
            )
        ),
    ),
    (
        Compare(LESS, Arithmetic(Operation.ADD, SEEN, c(7)), c(date(2026, 1, 8))),
        CompareColumn(LESS, "visits.seen", Kind.DATE, date(2026, 1, 1)),
    ),
    (
        Compare(LESS, c(date(2026, 1, 8)), Arithmetic(Operation.SUBTRACT, SEEN, c(7))),
        CompareColumn(MORE, "visits.seen", Kind.DATE, date(2026, 1, 15)),
    ),
    (Compare(MORE, STAY, c(None)), ConstantCondition(None)),
    (Compare(MORE, c(None), STAY), ConstantCondition(None)),
    (
        Compare(MORE, Arithmetic(Operation.ADD, STAY, c(1)), c(7)),
        CompareSteps(MORE, SumSteps(STAY_STEPS, WholeSteps(1)), WholeSteps(7)),
    ),
    (
        Compare(LESS, STAY, COST),
        CompareSteps(LESS, ProductSteps(WholeSteps(100), STAY_STEPS), COST_STEPS),
    ),
    (Compare(MORE, BELOW, c(2)), CompareSteps(MORE, ComputedSteps("below.n"), WholeSteps(2))),
    (Compare(MORE, c(2), BELOW), CompareSteps(MORE, WholeSteps(2), ComputedSteps("below.n"))),
    (Compare(MORE, BELOW, STAY), CompareSteps(MORE, ComputedSteps("below.n"), STAY_STEPS)),
    (
        OneOf(WARD, ("north", "west")),
        ColumnOneOf("visits.ward", Kind.TEXT, ("north", "west")),
    ),
    (OneOf(BELOW, (1, 3)), StepsOneOf(ComputedSteps("below.n"), (1, 3))),
    (
        OneOf(Arithmetic(Operation.MULTIPLY, STAY, c(Fraction(1, 2))), (2, Fraction(3, 2))),
        StepsOneOf(ProductSteps(STAY_STEPS, WholeSteps(1)), (4, 3)),
    ),
    (Like(WARD, "n%"), ColumnOneOf("visits.ward", Kind.TEXT, ("north",))),
    (IsNull(NOTE), ColumnIsNull("visits.note", Kind.TEXT)),
    (IsNull(BELOW), StepsAreNull(ComputedSteps("below.n"))),
    (
        IsNull(Arithmetic(Operation.ADD, STAY, c(1))),
        StepsAreNull(SumSteps(STAY_STEPS, WholeSteps(1))),
    ),
    (And((URGENT, c(True))), AllOf((ColumnIsTrue("visits.urgent"), ConstantCondition(True)))),
    (Or((URGENT, c(None))), AnyOf((ColumnIsTrue("visits.urgent"), ConstantCondition(None)))),
    (Not(URGENT), Negation(ColumnIsTrue("visits.urgent"))),
    (c(False), ConstantCondition(False)),
]


@pytest.mark.parametrize(("expression", "wanted"), CONDITIONS)
def test_a_condition_as_an_engine_decides_it(expression: Expression, wanted: Condition) -> None:
    assert condition(expression, ABOVE) == wanted


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        (Compare(EQUAL, STAY, c(HALF)), "'visits.stay' is an integer column, and 7/2 is not"),
        (Compare(UNEQUAL, STAY, c(HALF)), "is an integer column, and 7/2 is not"),
        (OneOf(STAY, (1, HALF)), "is an integer column, and 7/2 is not"),
        (
            Compare(LESS, WARD, c("n")),
            "'visits.ward' is a text column, which supports only the",
        ),
        (Compare(LESS, WARD, NOTE), "comparisons = and <>"),
        (Compare(AT_LEAST, URGENT, c(True)), "is a boolean column, which supports only"),
        (Compare(MORE, STAY, c(2**62)), "A number in a comparison must have at most 62 bits"),
        (
            Compare(MORE, STAY, c(-(2**62))),
            "A number in a comparison must have at most 62 bits",
        ),
        (OneOf(STAY, (2**62,)), "at most 62 bits"),
        (
            Compare(MORE, COST, c(Fraction(1, 10**19))),
            "at most 18 digits after the decimal point",
        ),
        (Compare(MORE, COST, c(Fraction(1, 3))), "at most 18 digits after the decimal point"),
        (Compare(LESS, c("a"), c("b")), "Texts and truths can be compared only with = and <>"),
        (Compare(EQUAL, URGENT, Compare(MORE, STAY, c(1))), "Compare a column with a value"),
        (STAY, r"A condition is expected here, such as age > 30 or ward = 'north'"),
        (c(1), "A condition is expected here"),
        (Compare(MORE, STAY, c("x")), "integer and text cannot be compared"),
        (OneOf(STAY, (True,)), "integer and boolean cannot be compared"),
    ],
)
def test_what_no_engine_decides_alike_is_refused(expression: Expression, told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        condition(expression, ABOVE)


def test_the_ends_of_what_is_compared() -> None:
    for value in (2**62 - 1, 1 - 2**62):
        assert condition(Compare(MORE, STAY, c(value)), ROWS) == beside(MORE, value)
    tiny = Fraction(1, 10**18)
    found = condition(Compare(MORE, COST, c(tiny)), ROWS)
    assert found == CompareColumn(MORE, "visits.cost", Kind.DECIMAL, tiny)
    # beside a float any fraction may stand
    third = Fraction(1, 3)
    found = condition(Compare(MORE, FREE, c(third)), ROWS)
    assert found == CompareColumn(MORE, "visits.free", Kind.FLOAT, third)
