"""Groups whose keys nobody declared: engines agree, and a neighbour shows in noise only."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from clinic import LIMITS, ROWS, TABLE, TABLES, catalog, database, plans
from clinic_questions import SECRET_KEYS
from engines_over import duckdb_over
from hypothesis import assume, given
from hypothesis import strategies as st

from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.core.catalog import Catalog, Limits
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours
from tacit.core.unseal import unseal
from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import SecretTable
from tacit.engines.reference import Reference, Row
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway, LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.bounding import bound
from tacit.plan.expression import Field
from tacit.plan.plan import (
    CountRows,
    CountUnits,
    GroupKey,
    Mean,
    NamedAggregate,
    Plan,
    Post,
    Scan,
)
from tacit.query.paid_work import run
from tacit.query.pricing import price
from tacit.query.quote import Quote

SALT = b"salt"
LOSSES = [Loss.zcdp("0.5", "0.3"), Loss.approximate(2, "0.3"), Loss.zcdp(20, "0.9")]
"""Large deltas, so that small groups are often kept."""

BY_DOCTOR = Plan(
    Scan("visits"),
    (GroupKey("doctor", Field("doctor")),),
    (NamedAggregate("n", CountRows()), NamedAggregate("age", Mean(Field("age")))),
    Post.showing("doctor", "n", "age"),
)


def opened(table: SecretTable) -> tuple[object, list[list[int]]]:
    assert table.groups is not None
    return unseal(table.groups), [unseal(tally).tolist() for tally in table.tallies]


def visit(person: str, doctor: str | None, room: int = 1) -> Row:
    empty: Row = dict.fromkeys(["ward", "age", "pay", "cost", "smoker", "day"])
    return {**empty, "person": person, "doctor": doctor, "room": room}


@given(TABLES, plans(SECRET_KEYS), LIMITS)
def test_duckdb_finds_the_same_groups_and_integers_as_the_reference(
    rows: list[Row], plan: Plan, limits: Limits
) -> None:
    declared = catalog(limits)
    try:
        wanted = bound(plan, declared).plan
    except InvalidValue:
        assume(False)
        raise
    found = duckdb_over(declared, {TABLE: rows}).run(wanted, declared, SALT)
    assert opened(found) == opened(Reference({TABLE: rows}).run(wanted, declared, SALT))


Answer = Callable[[Quote, Reference, Catalog, bytes, Gateway], object]


def audit(
    quote: Quote,
    declared: Catalog,
    before: Sequence[Row],
    after: Sequence[Row],
    answer: Answer = run,
) -> tuple[object, object]:
    """What is told of two neighbours, the second with the recorded releases of the first."""
    recording = RecordingGateway(SystemEntropy(b"charge"))
    first = answer(quote, Reference({TABLE: before}), declared, SALT, recording)
    replaying = ReplayingGateway(recording.calls)
    second = answer(quote, Reference({TABLE: after}), declared, SALT, replaying)
    replaying.finish()
    return first, second


@given(
    TABLES,
    st.lists(ROWS, max_size=8),
    plans(SECRET_KEYS),
    LIMITS,
    st.sampled_from(Neighbours),
    st.sampled_from(LOSSES),
    st.booleans(),
)
def test_a_neighbour_shows_in_nothing_but_noise(  # noqa: PLR0913, PLR0917 - all generated
    rows: list[Row],
    theirs: list[Row],
    plan: Plan,
    limits: Limits,
    neighbours: Neighbours,
    loss: Loss,
    swapped: bool,  # noqa: FBT001
) -> None:
    declared = catalog(limits, neighbours)
    try:
        quote = price(plan, declared, loss)
    except InvalidValue:
        assume(False)
        raise
    others = [row for row in rows if row["person"] != "a"]
    after = [*others, *({**row, "person": "a"} for row in theirs)]
    before = rows if neighbours is Neighbours.REPLACE_ONE else others
    first, second = audit(quote, declared, *((after, before) if swapped else (before, after)))
    assert first == second


def test_a_group_that_the_neighbour_lacks_is_replayed_as_nothing() -> None:
    declared = catalog(Limits(max_groups=1, max_rows=1))
    quote = price(BY_DOCTOR, declared, Loss.zcdp(20, "0.9"))
    alone = [visit("a", "only theirs")]
    told = [audit(quote, declared, alone, []) for _ in range(20)]
    assert all(first == second for first, second in told)
    kept = [first[0].values for first, _ in told]  # type: ignore[index]
    assert ("only theirs",) in kept


class CountingRows:
    """A lie: groups are selected by how many rows they have, not by how many units."""

    def __init__(self, engine: Reference) -> None:
        self._engine = engine

    def run(self, plan: BoundedPlan, declared: Catalog, salt: bytes) -> SecretTable:
        table = self._engine.run(plan, declared, salt)
        return replace(table, tallies=(table.tallies[1], *table.tallies[1:]))


def by_rows(
    quote: Quote, engine: Reference, declared: Catalog, salt: bytes, gateway: Gateway
) -> object:
    return run(quote, CountingRows(engine), declared, salt, gateway)


@pytest.mark.parametrize("max_groups", [1, 4, 9])
def test_selecting_by_rows_instead_of_units_is_caught(max_groups: int) -> None:
    declared = catalog(Limits(max_groups=max_groups, max_rows=2))
    plan = replace(
        BY_DOCTOR, measures=(NamedAggregate("n", CountRows()),), post=Post.showing("n")
    )
    quote = price(plan, declared, Loss.zcdp(1, "0.1"))
    before = [visit(person, "who") for person in "bcd"]
    after = [*before, visit("a", "who"), visit("a", "who")]
    assert audit(quote, declared, before, after)
    # nine groups of one unit move by the root of nine, and so would one group by 2
    with pytest.raises(BrokenPromise, match=r"changes by the square root|twice in one group"):
        audit(quote, declared, before, after, by_rows)


def naming_all(
    quote: Quote, engine: Reference, declared: Catalog, salt: bytes, gateway: Gateway
) -> object:
    """A lie: every group that occurs is named, whatever its release."""
    table = engine.run(quote.bound.plan, declared, salt)
    assert table.groups is not None
    return unseal(table.groups), run(quote, engine, declared, salt, gateway)


def test_naming_every_group_is_caught() -> None:
    declared = catalog(Limits(max_groups=1, max_rows=1))
    quote = price(BY_DOCTOR, declared, Loss.zcdp("0.1", "1e-6"))
    before = [visit(person, "who") for person in "bcd"]
    after = [*before, visit("a", "rare")]
    first, second = audit(quote, declared, before, after)
    assert first == second
    first, second = audit(quote, declared, before, after, naming_all)
    assert first != second


def test_a_hidden_group_leaves_no_trace() -> None:
    rows = [visit(f"p{number}", "who") for number in range(500)] + [visit("x", "rare")]
    declared = catalog(Limits(max_groups=1, max_rows=1))
    quote = price(BY_DOCTOR, declared, Loss.zcdp("0.1", "1e-9"))
    gateway = LiveGateway(SystemEntropy(b"charge"))
    columns = run(quote, DuckDB(database(rows)), declared, SALT, gateway)
    names = {measure.name: measure.aggregate for measure in quote.question.plan.measures}
    rows_column = next(c for c in columns if isinstance(names.get(c.name), CountRows))
    assert columns[0].values == ("who",)
    assert all(len(column.values) == 1 for column in columns)
    assert isinstance(rows_column.values[0], Fraction)
    assert abs(rows_column.values[0] - 500) < 100


def test_a_table_without_rows_is_answered_with_no_rows() -> None:
    declared = catalog(Limits(max_groups=1, max_rows=1))
    for aggregate in (CountRows(), CountUnits(), Mean(Field("age"))):
        plan = replace(
            BY_DOCTOR, measures=(NamedAggregate("m", aggregate),), post=Post.showing("m")
        )
        quote = price(plan, declared, Loss.zcdp("0.1", "1e-6"))
        gateway = LiveGateway(SystemEntropy(b"charge"))
        columns = run(quote, DuckDB(database([])), declared, SALT, gateway)
        assert [column.values for column in columns] == [(), ()]


def test_released_groups_come_in_the_order_of_their_keys() -> None:
    rows = [
        visit(f"{room}-{number}", "who", room) for room in (9, -3, 40) for number in range(60)
    ]
    declared = catalog(Limits(max_groups=1, max_rows=1))
    plan = replace(
        BY_DOCTOR, keys=(GroupKey("room", Field("room")),), post=Post.showing("room")
    )
    quote = price(plan, declared, Loss.zcdp(5, "1e-6"))
    for engine in (DuckDB(database(rows)), Reference({TABLE: rows})):
        gateway = LiveGateway(SystemEntropy(b"charge"))
        assert run(quote, engine, declared, SALT, gateway)[0].values == (-3, 9, 40)
