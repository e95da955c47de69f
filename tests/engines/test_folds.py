"""Folds of units and scaled columns: every engine finds the integers of the reference."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from clinic import TABLE, catalog
from engines_over import ENGINES, reference
from test_fit import NULLS

from tacit.core.catalog import Limits
from tacit.core.domain import Bounds
from tacit.core.unseal import unseal
from tacit.engines.engine import fold_of
from tacit.engines.print.ranking import RowContext
from tacit.engines.print.sql_dialects import DUCKDB
from tacit.engines.reference import Row, steps
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.estimator import Training, training_of
from tacit.plan.model_columns import Axis, ScaledColumn
from tacit.plan.plan import Scan
from tacit.plan.source import Fold
from tacit.plan.steps import WholeSteps
from tacit.plan.tally import RowSumTally

SALT, FOLDS = b"salt", 3
DECLARED = catalog(Limits(1, 2))
ROWS: list[Row] = [
    {**NULLS, "person": f"p{person}", "pay": 7.3 * person + row, "age": person % 50}
    for person in range(60)
    for row in range(1 + person % 3)
]


def training() -> Training:
    return training_of(Scan("visits"), ["pay", "age"], None, DECLARED)


def counted(fold: Fold) -> BoundedPlan:
    return replace(training(), fold=fold).plan([RowSumTally(WholeSteps(1), 0, 2)])


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_puts_a_unit_into_the_fold_of_the_reference(name: str) -> None:
    tables = {TABLE: ROWS}
    engine, slow = ENGINES[name](DECLARED, tables), reference(DECLARED, tables)
    counts = []
    for number in range(FOLDS):
        for fold in (Fold(number, FOLDS), Fold(number, FOLDS).others):
            plan = counted(fold)
            here, there = (
                int(unseal(each.run(plan, DECLARED, SALT).tallies[0])[0])
                for each in (engine, slow)
            )
            assert here == there
            counts.append(here)
    assert {one + other for one, other in zip(counts[::2], counts[1::2], strict=True)} == {
        sum(counts[::2])
    }
    assert all(0 < count < sum(counts[::2]) for count in counts)


def scaled(scale: Fraction) -> list[Axis]:
    pay, age = training().features
    columns = (
        ScaledColumn.of(pay, Bounds.of(-5, 400), Fraction(113, 7), scale),
        ScaledColumn.of(age, Bounds.of(0, 120), Fraction(20), scale),
    )
    return [Axis.of(column, Bounds.of(-3, Fraction(5, 2))) for column in columns]


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("scale", [Fraction(25), Fraction(1, 3), Fraction(1, 10**12)])
def test_an_engine_scales_a_column_as_the_reference_does(name: str, scale: Fraction) -> None:
    tables = {TABLE: [*ROWS, {**NULLS, "person": "nobody", "pay": None}]}
    tallies = [
        RowSumTally(axis.steps, -2 * axis.reach, 2 * axis.reach) for axis in scaled(scale)
    ]
    plan = training().plan(tallies)
    here, there = (
        [int(unseal(tally)[0]) for tally in engine.run(plan, DECLARED, SALT).tallies]
        for engine in (ENGINES[name](DECLARED, tables), reference(DECLARED, tables))
    )
    assert here == there


def test_a_scaled_column_is_what_its_scaler_makes_of_it() -> None:
    scale = Fraction(25)
    for axis, name, mean in zip(
        scaled(scale), ("pay", "age"), (Fraction(113, 7), 20), strict=True
    ):
        for row in ROWS:
            named = {f"visits.{key}": value for key, value in row.items()}
            found = steps(axis.steps, named)
            assert found is not None
            wanted = np.clip((row[name] - mean) / scale, -3, 2.5)  # type: ignore[operator]
            assert float(axis.value(found)) == pytest.approx(float(wanted), abs=2e-4)


def test_a_copy_in_order_is_not_cut_before_its_folds() -> None:
    assert not RowContext(counted(Fold(0, FOLDS)), DECLARED, SALT, DUCKDB).all_count
    assert RowContext(training().plan([]), DECLARED, SALT, DUCKDB).all_count


def test_folds_are_of_about_the_same_size() -> None:
    found = np.bincount([fold_of(SALT, f"p{unit}", 5) for unit in range(5000)])
    assert found.min() > 800
