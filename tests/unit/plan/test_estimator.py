"""The rows and columns that a model is fitted to, from the catalogue alone."""

from dataclasses import replace

import pytest
from ward import CATALOG, c, field, ward

from tacit.core.catalog import Limits
from tacit.core.domain import Keys, Kind
from tacit.core.privacy_unit import Neighbours
from tacit.errors import InvalidValue
from tacit.plan.bounded_plan import StepsKey
from tacit.plan.estimator import RowsOf, training_of
from tacit.plan.expression import And, Compare, Comparison
from tacit.plan.plan import Filter, Join, Scan
from tacit.plan.source import Fold
from tacit.plan.steps import AllOf, CompareColumn, ComputedSteps, ConstantCondition, WholeSteps
from tacit.plan.tally import RowSumTally, RowTally, UnitTally

LONG = Compare(Comparison.MORE, field("stay"), c(7))
LONGER = CompareColumn(Comparison.MORE, "visits.stay", Kind.INTEGER, 7)
JOINED = Join(Filter(Scan("visits"), LONG), "patients", "visits.patient", "id")
KEPT = RowSumTally(ComputedSteps("x"), -1, 1)
KEY = StepsKey("class", WholeSteps(0), Keys((0, 1)))


def test_the_columns_of_a_model_are_found_in_the_order_given() -> None:
    found = training_of(JOINED, ["heat", "age"], "cost", CATALOG)
    assert [column.name for column in found.features] == ["visits.heat", "patients.age"]
    assert found.target is not None
    assert found.target.name == "visits.cost"
    assert found.condition == AllOf((LONGER,))
    assert found.population.name == "patients"
    assert found.neighbours is Neighbours.ADD_REMOVE
    assert found.assumptions == ("patients.id is unique",)
    assert found.fold is None
    assert training_of(JOINED, ["heat"], None, CATALOG).target is None


@pytest.mark.parametrize(
    ("limits", "rows"),
    [
        (Limits(3, 5), 5),
        (Limits(3, 5, 4), 4),
        (Limits(3, 5, 9), 5),
        (Limits(9, 1), 1),
    ],
)
def test_a_unit_has_so_many_rows_in_a_model(limits: Limits, rows: int) -> None:
    found = training_of(Scan("visits"), ["heat"], None, ward(visits=limits))
    assert (found.max_rows, found.max_rows_in_all) == (rows, limits.max_rows_in_all)


@pytest.mark.parametrize(
    ("features", "target", "told"),
    [
        ([], None, "the given columns are: none"),
        ([], "cost", r"the given columns are: visits\.cost"),
        (["heat", "visits.heat"], None, r"given columns are: visits\.heat, visits\.heat"),
        (["heat"], "heat", r"no column may be given twice"),
        (["person"], None, r"'patients\.person' identifies a person and cannot be a column"),
        (["heat"], "person", r"'patients\.person' identifies a person"),
    ],
)
def test_what_is_no_model_of_rows_is_refused(
    features: list[str], target: str | None, told: str
) -> None:
    with pytest.raises(InvalidValue, match=told):
        training_of(JOINED, features, target, CATALOG)


def test_conditions_of_models_are_limited_as_those_of_questions_are() -> None:
    with pytest.raises(InvalidValue, match="has 65 comparisons"):
        training_of(Filter(Scan("visits"), And((LONG,) * 65)), ["heat"], None, CATALOG)


def test_what_an_engine_counts_for_a_model() -> None:
    training = training_of(JOINED, ["heat"], None, ward(visits=Limits(3, 5, 4)))
    training = replace(training, fold=Fold(1, 5))
    plan = training.plan([KEPT, UnitTally()], ConstantCondition(True))
    assert plan.condition == AllOf((LONGER, ConstantCondition(True)))
    assert plan.tallies == (KEPT, UnitTally())
    assert (plan.keys, plan.max_groups, plan.max_rows) == ((), 1, 4)
    assert (plan.max_rows_in_all, plan.fold) == (4, Fold(1, 5))
    assert plan.source == training.source


def test_with_a_key_a_unit_keeps_its_rows_in_all_groups_together() -> None:
    training = training_of(Scan("visits"), ["heat"], None, ward(visits=Limits(3, 5)))
    assert training.plan([KEPT]).max_rows_in_all is None
    plan = training.plan([KEPT], key=KEY)
    assert (plan.keys, plan.max_groups, plan.max_rows) == ((KEY,), 5, 5)
    assert plan.max_rows_in_all == 5
    assert plan.condition == AllOf(())


def test_rows_are_kept_numbers_of_one_group() -> None:
    training = training_of(Scan("visits"), ["heat"], None, CATALOG)
    assert RowsOf(training.plan([KEPT, KEPT])).plan.tallies == (KEPT, KEPT)
    for plan in (
        training.plan([KEPT], key=KEY),
        training.plan([KEPT, UnitTally()]),
        training.plan([RowTally(ConstantCondition(True), 1)]),
    ):
        with pytest.raises(InvalidValue, match="must have no group keys"):
            RowsOf(plan)
