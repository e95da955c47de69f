"""Trees and squares under neighbours: what breaks their promise is found."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from clinic import TABLE, catalog, database

from tacit.audit.replay import (
    BrokenPromise,
    RecordingGateway,
    ReplayingGateway,
    square_distance,
)
from tacit.core.catalog import Catalog, Limits
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.core.unseal import unseal
from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import Engine, SecretTable
from tacit.engines.reference import Reference, Row
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.bounding import bound
from tacit.plan.tally import RowSumTally, TreeTally
from tacit.query.paid_work import run
from tacit.query.pricing import price
from tacit.query.quote import PricedTally, Quote
from tacit.sql.parser import parse

MEDIANS = "SELECT ward, MEDIAN(age), MAX(pay) FROM visits GROUP BY ward"
SPREADS = "SELECT ward, VARIANCE(age), STDDEV_POP(cost) FROM visits GROUP BY ward"


def row(person: str, ward: str, age: int | None) -> Row:
    return {
        "person": person,
        "ward": ward,
        "age": age,
        "pay": None if age is None else age * 0.7,
        "cost": age,
        "smoker": None,
        "day": None,
    }


OTHERS = [row(f"p{place % 40}", ("north", "south")[place % 2], place) for place in range(120)]
THEIRS = [row("a", ward, 119) for ward in ("north", "south", "it's", "") for _ in range(9)]


def replayed(
    quote: Quote, declared: Catalog, engine: Callable[[list[Row]], Engine] | None = None
) -> None:
    """Ask without one person's rows, and again with them."""
    make = engine or (lambda rows: Reference({TABLE: rows}))
    recording = RecordingGateway(SystemEntropy(b"charge"))
    run(quote, make(OTHERS), declared, b"salt", recording)
    replaying = ReplayingGateway(recording.calls)
    run(quote, make([*OTHERS, *THEIRS]), declared, b"salt", replaying)
    replaying.finish()


def quoted(text: str) -> tuple[Quote, Catalog]:
    declared = catalog(Limits(max_groups=2, max_rows=3), Neighbours.ADD_REMOVE)
    return price(parse(text, declared), declared, Loss.zcdp("0.1")), declared


@pytest.mark.parametrize("text", [MEDIANS, SPREADS])
def test_a_person_of_many_rows_moves_no_more_than_was_declared(text: str) -> None:
    replayed(*quoted(text))
    replayed(*quoted(text), lambda rows: DuckDB(database(rows)))


def test_the_person_moves_a_tree_by_all_that_was_declared() -> None:
    quote, declared = quoted(MEDIANS)
    with_them, without = (
        Reference({TABLE: rows}).run(quote.bound.plan, declared, b"salt")
        for rows in ([*OTHERS, *THEIRS], OTHERS)
    )
    for place, part in enumerate(quote.tallies):
        left, right = (unseal(table.tallies[place]) for table in (with_them, without))
        moved = square_distance(left, right, part.sensitivity.norm)
        assert moved == part.sensitivity.square


def test_levels_that_are_forgotten_are_found() -> None:
    quote, declared = quoted("SELECT ward, MIN(age), MAX(pay) FROM visits GROUP BY ward")
    lies = []
    for part, tally in zip(quote.tallies, quote.bound.plan.tallies, strict=True):
        assert isinstance(tally, TreeTally)
        assert tally.levels > 1
        moved = part.sensitivity
        flat = Sensitivity(moved.square / tally.levels, moved.norm, moved.proof)
        lies.append(PricedTally(part.mechanism, flat))
    with pytest.raises(BrokenPromise):
        replayed(replace(quote, tallies=tuple(lies)), declared)


@pytest.mark.parametrize("lie", [1, 2])
def test_a_unit_with_fewer_rows_or_groups_than_it_has_is_found(lie: int) -> None:
    quote, declared = quoted("SELECT ward, MEDIAN(age) FROM visits GROUP BY ward")
    (part,) = quote.tallies
    assert part.sensitivity.norm is Norm.L1
    moved = Sensitivity.of(part.sensitivity.amount - lie, Norm.L1, part.sensitivity.proof)
    with pytest.raises(BrokenPromise):
        replayed(replace(quote, tallies=(PricedTally(part.mechanism, moved),)), declared)


class AllRows:
    """The lie of an engine that keeps every row of a unit."""

    def __init__(self, rows: list[Row]) -> None:
        self._inner = Reference({TABLE: rows})

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        return self._inner.run(replace(plan, max_rows=100), catalog, salt)


@pytest.mark.parametrize("text", [MEDIANS, SPREADS])
def test_an_engine_that_keeps_all_rows_is_found(text: str) -> None:
    with pytest.raises(BrokenPromise):
        replayed(*quoted(text), AllRows)


def test_squares_priced_as_values_are_found() -> None:
    quote, declared = quoted(SPREADS)
    halved = []
    for part, tally in zip(quote.tallies, quote.bound.plan.tallies, strict=True):
        assert isinstance(tally, RowSumTally)
        moved = part.sensitivity
        lie = Sensitivity(Fraction(moved.square) / 4, moved.norm, moved.proof)
        halved.append(PricedTally(part.mechanism, lie))
    with pytest.raises(BrokenPromise):
        replayed(replace(quote, tallies=tuple(halved)), declared)


def test_no_rows_and_secret_groups_make_no_trees() -> None:
    declared = catalog(Limits(max_groups=2, max_rows=3))
    text = "SELECT day, MEDIAN(age) FROM visits GROUP BY day"
    plan = bound(parse(text, declared), declared).plan
    for engine in (Reference({TABLE: []}), DuckDB(database([]))):
        found = engine.run(plan, declared, b"salt")
        assert [unseal(tally).size for tally in found.tallies] == [0, 0]
