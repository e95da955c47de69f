"""Joins with public tables: what they mean, and that they multiply nobody's share."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from clinic import LIMITS, ROWS, TABLE, TABLES
from clinic import TYPES as VISITS
from hypothesis import assume, given
from hypothesis import strategies as st
from neighbouring import opened
from public import PLACE, PLACES, TYPES, catalog, database, public_plans

from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.core.catalog import Catalog, Limits
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours
from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import SecretTable
from tacit.engines.reference import Reference, Row, Tables
from tacit.errors import InvalidValue
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.bounding import bound
from tacit.plan.plan import Plan
from tacit.query.paid_work import run
from tacit.query.pricing import price
from tacit.query.quote import Quote
from tacit.sql.parser import parse

SALT = b"salt"


@given(TABLES, PLACES, public_plans(), LIMITS)
def test_duckdb_joins_a_public_table_as_the_reference_does(
    rows: list[Row], places: list[Row], plan: Plan, limits: Limits
) -> None:
    declared = catalog(limits)
    try:
        wanted = bound(plan, declared).plan
    except InvalidValue:
        assume(False)
        raise
    found = DuckDB(database(rows, places)).run(wanted, declared, SALT)
    tables = {TABLE: rows, PLACE: places}
    assert opened(found) == opened(Reference(tables).run(wanted, declared, SALT))


class BoundedBefore:
    """The lie: rows are bounded before the join, and multiplied after it."""

    def __init__(self, tables: Tables) -> None:
        self._engine = Reference(dict(tables))

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        return self._engine.run(replace(plan, max_rows=10**6), catalog, salt)


def replayed(
    quote: Quote,
    declared: Catalog,
    sides: Sequence[Tables],
    engine: type[Reference | BoundedBefore] = Reference,
) -> None:
    recording = RecordingGateway(SystemEntropy(b"charge"))
    first = run(quote, engine(dict(sides[0])), declared, SALT, recording)
    replaying = ReplayingGateway(recording.calls)
    second = run(quote, engine(dict(sides[1])), declared, SALT, replaying)
    replaying.finish()
    assert first == second


@given(
    TABLES,
    st.lists(ROWS, max_size=8),
    PLACES,
    public_plans(),
    st.builds(catalog, LIMITS, st.sampled_from(Neighbours)),
)
def test_a_neighbour_shows_in_nothing_but_noise(
    rows: list[Row],
    theirs: list[Row],
    places: list[Row],
    plan: Plan,
    declared: Catalog,
) -> None:
    try:
        quote = price(plan, declared, Loss.zcdp("0.1", "1e-6"))
    except InvalidValue:
        assume(False)
        raise
    others = [row for row in rows if row["person"] != "a"]
    with_them = [*others, *({**row, "person": "a"} for row in theirs)]
    neighbours = declared.populations[0].unit.neighbours
    before = rows if neighbours is Neighbours.REPLACE_ONE else others
    sides = [{TABLE: side, PLACE: places} for side in (before, with_them)]
    replayed(quote, declared, sides)


MULTIPLIED = "SELECT AVG(rate) FROM visits v JOIN places p ON v.ward = p.named"
ANN: Row = dict.fromkeys(VISITS) | {"person": "ann", "ward": "north", "age": 40}
NORTH: Row = dict.fromkeys(TYPES) | {"named": "north", "rate": 9}


def test_rows_that_are_bounded_before_the_join_are_found() -> None:
    declared = catalog(Limits(1, 1))
    quote = price(parse(MULTIPLIED, declared), declared, Loss.zcdp("0.1"))
    sides: list[Tables] = [{TABLE: rows, PLACE: [NORTH] * 5} for rows in ([ANN], [])]
    replayed(quote, declared, sides)
    with pytest.raises(BrokenPromise):
        replayed(quote, declared, sides, BoundedBefore)


def test_a_public_table_that_is_about_somebody_would_show() -> None:
    """The owner's lie: rows of a person in a table that was declared public."""
    declared = catalog(Limits(1, 1))
    quote = price(parse(MULTIPLIED, declared), declared, Loss.zcdp("0.1"))
    crowd = [ANN | {"person": f"p{number}"} for number in range(5)]
    with pytest.raises(BrokenPromise):
        replayed(quote, declared, [{TABLE: crowd, PLACE: rows} for rows in ([NORTH], [])])


def test_which_rows_are_kept_is_decided_by_the_public_columns_too() -> None:
    """The order of the public table's rows decides nothing."""
    declared = catalog(Limits(1, 2))
    wanted = bound(parse(MULTIPLIED, declared), declared).plan
    places = [NORTH | {"rate": rate} for rate in range(6)]
    found = [
        opened(engine.run(wanted, declared, SALT))
        for rows in (places, places[::-1])
        for engine in (
            Reference({TABLE: [ANN], PLACE: rows}),
            DuckDB(database([ANN], rows)),
        )
    ]
    assert found == [found[0]] * 4


def test_the_types_of_a_public_table_are_checked_too() -> None:
    declared = catalog(Limits(1, 1))
    connection = database([], [])
    connection.execute("ALTER TABLE places ALTER rate TYPE DOUBLE")
    with pytest.raises(InvalidValue, match=r"places\.rate is declared as decimal"):
        DuckDB(connection).check(declared)
