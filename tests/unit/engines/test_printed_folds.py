"""The printed statement of a fold: which units are inside, and which are outside of it."""

from dataclasses import replace

import pytest
from ward import CATALOG

from tacit.engines.print.postgres_dialect import POSTGRES
from tacit.engines.print.sql_dialects import DUCKDB, SPARK
from tacit.engines.sql_engine import statement
from tacit.plan.estimator import training_of
from tacit.plan.plan import Scan
from tacit.plan.source import Fold
from tacit.plan.steps import WholeSteps
from tacit.plan.tally import RowSumTally

DIALECTS = {each.name: each for each in (DUCKDB, POSTGRES, SPARK)}


def printed(fold: Fold | None, dialect: str) -> str:
    training = training_of(Scan("visits"), ["heat"], None, CATALOG)
    plan = replace(training, fold=fold).plan([RowSumTally(WholeSteps(1), 0, 5)])
    return statement(plan, CATALOG, b"salt", DIALECTS[dialect])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_fold_keeps_its_units_and_the_others_keep_all_others(dialect: str) -> None:
    inside = printed(Fold(2, 5), dialect)
    outside = printed(Fold(2, 5).others, dialect)
    assert " % 5) = 2" in inside
    assert " % 5) <> 2" in outside
    assert inside.replace(" % 5) = 2", " % 5) <> 2") == outside


@pytest.mark.parametrize("dialect", DIALECTS)
def test_without_a_fold_nobody_is_left_out(dialect: str) -> None:
    assert " % 5)" not in printed(None, dialect)
    assert printed(Fold(2, 5), dialect) != printed(Fold(3, 5), dialect)
    assert " % 7) = 2" in printed(Fold(2, 7), dialect)
