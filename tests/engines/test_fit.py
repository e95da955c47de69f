"""The contract of an estimator: driven over engines, replayed on neighbours, caught lying."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from clinic import TABLE, catalog, database
from private_mean import ClippedMean, PrivateMean

from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.core.catalog import Catalog, Limits
from tacit.core.domain import Bounds
from tacit.core.privacy_unit import Neighbours
from tacit.core.secret import Secret
from tacit.core.unseal import unseal
from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import Engine
from tacit.engines.reference import Reference, Row
from tacit.engines.unit_rows import UnitRows
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.estimator import RowsOf, Training, training_of
from tacit.plan.model_columns import Axis
from tacit.plan.plan import Scan
from tacit.plan.tally import RowSumTally, UnitTally
from tacit.query.paid_work import Data, drive

SALT = b"salt"
BOUNDS = Bounds.of(0, 100)
NULLS: Row = dict.fromkeys(("ward", "age", "cost", "smoker", "day", "until", "doctor", "room"))


def visits(people: int, rows: int = 2, pay: float = 30.0) -> list[Row]:
    return [
        {**NULLS, "person": f"p{person}", "pay": pay + row}
        for person in range(people)
        for row in range(rows)
    ]


def data_of(rows: Sequence[Row], declared: Catalog, *, slow: bool = False) -> Data:
    engine: Engine = Reference({TABLE: rows}) if slow else DuckDB(database(rows))
    return Data(engine, declared, SALT)


def matrix(rows: Secret[UnitRows]) -> list[tuple[int, ...]]:
    """All rows of a fit, opened."""
    return [tuple(row) for block in unseal(rows).blocks() for row in block.tolist()]


def training(declared: Catalog) -> Training:
    return training_of(Scan("visits"), ["pay"], None, declared)


@pytest.mark.parametrize("slow", [True, False])
@pytest.mark.parametrize("estimator", [PrivateMean(BOUNDS), ClippedMean(BOUNDS)])
def test_an_estimator_learns_from_sums_or_from_rows(
    estimator: PrivateMean, *, slow: bool
) -> None:
    declared = catalog(Limits(1, 1))
    quiet = replace(estimator, variance=Fraction(1))
    gateway = LiveGateway(SystemEntropy(b"a charge"))
    data = data_of(visits(40, rows=1), declared, slow=slow)
    (mean,) = drive(quiet, training(declared), data, gateway)
    assert mean.name == "mean_"
    assert float(mean.values[0]) == pytest.approx(30, abs=1e-3)


def test_engines_keep_the_same_rows() -> None:
    rows = [*visits(30, rows=3), {**NULLS, "person": None, "pay": 1.0}]
    rows += [{**NULLS, "person": "p1", "pay": None}, {**NULLS, "person": "p2", "pay": 7e300}]
    for limits in (Limits(1, 2), Limits(2, 3, max_rows_in_all=2), Limits(1, 9)):
        declared = catalog(limits)
        where = training(declared)
        axis = Axis.of(where.features[0], BOUNDS)
        plan = where.plan([RowSumTally(axis.steps, -axis.reach, axis.reach)])
        found = [
            matrix(data_of(rows, declared, slow=slow).answer(RowsOf(plan)))
            for slow in (True, False)
        ]
        assert found[0] == found[1]  # in the same order, too
        assert len({unit for unit, _ in found[0]}) == 30


def replayed(estimator: PrivateMean, neighbours: Neighbours) -> None:
    """Record on one table, and replay on its neighbour without the person of most rows."""
    declared = catalog(Limits(1, 2), neighbours)
    rows, extreme = visits(10), visits(11, rows=2, pay=9e9)[-2:]
    there = RecordingGateway(SystemEntropy(b"a charge"))
    drive(estimator, training(declared), data_of([*rows, *extreme], declared), there)
    other = visits(11, rows=2, pay=-9e9)[-2:] if neighbours is Neighbours.REPLACE_ONE else []
    gone = ReplayingGateway(there.calls)
    drive(estimator, training(declared), data_of([*rows, *other], declared), gone)
    gone.finish()


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("estimator", [PrivateMean(BOUNDS), ClippedMean(BOUNDS)])
def test_a_neighbour_moves_a_fit_by_its_sensitivity(
    estimator: PrivateMean, neighbours: Neighbours
) -> None:
    replayed(estimator, neighbours)


def test_a_fit_clipped_by_rows_is_caught() -> None:
    with pytest.raises(BrokenPromise, match="changes by the square root of"):
        replayed(ClippedMean(BOUNDS, per_unit=False), Neighbours.ADD_REMOVE)


def test_a_model_is_refused_what_names_a_person_or_is_no_number() -> None:
    declared = catalog(Limits(1, 1))
    with pytest.raises(InvalidValue, match="identifies a person"):
        training_of(Scan("visits"), ["person"], None, declared)
    with pytest.raises(InvalidValue, match="no column may be given twice"):
        training_of(Scan("visits"), ["pay"], "pay", declared)
    with pytest.raises(InvalidValue, match="is a text column"):
        Axis.of(declared.dataset("visits").schema["ward"], BOUNDS)
    with pytest.raises(InvalidValue, match="of the class RowSumTally"):
        RowsOf(training(declared).plan([UnitTally()]))
