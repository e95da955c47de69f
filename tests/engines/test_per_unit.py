"""What each person's own rows add up to: what it means, and that one person stays one."""

# ruff: noqa: S608 - our own text

from collections.abc import Callable, Sequence
from dataclasses import replace

import duckdb
import pytest
from clinic import LIMITS, ROWS, TABLE, TABLES, TYPES, catalog, database
from hypothesis import assume, given
from hypothesis import strategies as st
from neighbouring import opened
from per_unit import unit_plans

from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.core.catalog import Catalog, Limits
from tacit.core.domain import Bounds, Column, Kind, Schema
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours
from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import SecretTable
from tacit.engines.reference import Reference, Row
from tacit.errors import InvalidValue
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.plan.plan import Plan
from tacit.plan.source import SumOf
from tacit.query.paid_work import run
from tacit.query.pricing import price
from tacit.query.quote import Quote
from tacit.sql.parser import parse

SALT = b"salt"
TOTALS = "(SELECT person, SUM(age) AS total FROM visits GROUP BY person)"
BY_WARD = "(SELECT person, ward, SUM(age) AS total FROM visits GROUP BY person, ward)"


@given(TABLES, unit_plans(), LIMITS)
def test_duckdb_gathers_as_the_reference_does(
    rows: list[Row], plan: Plan, limits: Limits
) -> None:
    declared = catalog(limits)
    try:
        wanted = bound(plan, declared).plan
    except InvalidValue:
        assume(False)
        raise
    found = DuckDB(database(rows)).run(wanted, declared, SALT)
    assert opened(found) == opened(Reference({TABLE: rows}).run(wanted, declared, SALT))


Change = Callable[[BoundedPlan], BoundedPlan]


class Changed:
    """A reference that is told another plan: the honest one, or a lie."""

    def __init__(self, rows: Sequence[Row], change: Change) -> None:
        self._engine = Reference({TABLE: rows})
        self._change = change

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        return self._engine.run(self._change(plan), catalog, salt)


def as_it_is(plan: BoundedPlan) -> BoundedPlan:
    return plan


def replayed(
    quote: Quote, declared: Catalog, sides: Sequence[Sequence[Row]], change: Change = as_it_is
) -> None:
    recording = RecordingGateway(SystemEntropy(b"charge"))
    first = run(quote, Changed(sides[0], change), declared, SALT, recording)
    replaying = ReplayingGateway(recording.calls)
    second = run(quote, Changed(sides[1], change), declared, SALT, replaying)
    replaying.finish()
    assert first == second


@given(TABLES, st.lists(ROWS, max_size=8), unit_plans(), LIMITS, st.sampled_from(Neighbours))
def test_a_neighbour_shows_in_nothing_but_noise(
    rows: list[Row], theirs: list[Row], plan: Plan, limits: Limits, neighbours: Neighbours
) -> None:
    declared = catalog(limits, neighbours)
    try:
        quote = price(plan, declared, Loss.zcdp("0.1", "1e-6"))
    except InvalidValue:
        assume(False)
        raise
    others = [row for row in rows if row["person"] != "a"]
    with_them = [*others, *({**row, "person": "a"} for row in theirs)]
    before = rows if neighbours is Neighbours.REPLACE_ONE else others
    replayed(quote, declared, (before, with_them))


def visits(person: str, *wards_and_ages: tuple[str, int]) -> list[Row]:
    nothing = dict.fromkeys(TYPES)
    return [
        nothing | {"person": person, "ward": ward, "age": age} for ward, age in wards_and_ages
    ]


def unclamped(plan: BoundedPlan) -> BoundedPlan:
    """The lie: what a person's rows add up to is not clamped."""
    gathered = plan.source.gathered
    assert gathered is not None
    values = tuple(
        (name, replace(value, low=-(10**9), high=10**9) if isinstance(value, SumOf) else value)
        for name, value in gathered.values
    )
    return replace(plan, source=replace(plan.source, gathered=replace(gathered, values=values)))


def bounded_below_alone(plan: BoundedPlan) -> BoundedPlan:
    """The lie: a person's rows are bounded inside the query below, and not above it."""
    return replace(plan, max_rows=10**6)


def wholly_below(plan: BoundedPlan) -> BoundedPlan:
    """The lie: groups of the query below are those of everybody, and not of one person."""
    gathered = plan.source.gathered
    assert gathered is not None
    below = replace(gathered.source, unit=gathered.keys[0])
    all_people = replace(gathered, source=below, keys=())
    return replace(
        plan, source=replace(plan.source, unit=gathered.keys[0], gathered=all_people)
    )


ANN = visits("ann", *((ward, 120) for ward in ("north", "south", "it's") for _ in range(4)))
BOB = visits("bob", ("north", 30), ("south", 20))


@pytest.mark.parametrize(
    ("text", "lie"),
    [
        (f"SELECT AVG(total) FROM {TOTALS}", unclamped),
        (f"SELECT AVG(total) FROM {BY_WARD}", bounded_below_alone),
        (f"SELECT MEDIAN(total) FROM {BY_WARD}", bounded_below_alone),
        (f"SELECT SUM(total), COUNT(*) FROM {BY_WARD} WHERE total > 100", wholly_below),
    ],
)
def test_a_lie_about_bounding_is_found(text: str, lie: Change) -> None:
    declared = catalog(Limits(2, 2))
    quote = price(parse(text, declared), declared, Loss.zcdp("0.1"))
    replayed(quote, declared, ([*ANN, *BOB], BOB))
    with pytest.raises(BrokenPromise):
        replayed(quote, declared, ([*ANN, *BOB], BOB), lie)


def test_a_person_without_end_overflows_nothing() -> None:
    """A million rows of one person, each as large as a column can hold."""
    declared = catalog(Limits(1, 1))
    dataset = declared.dataset("visits")
    schema = Schema(
        (
            Column("person", Kind.TEXT),
            Column("age", Kind.INTEGER, bounds=Bounds.of(0, 2**61)),
        )
    )
    declared = replace(declared, datasets=(replace(dataset, schema=schema),))
    text = (
        "SELECT SUM(s), SUM(a), SUM(n) FROM (SELECT person, SUM(age) AS s, AVG(age) AS a,"
        " COUNT(*) AS n FROM visits GROUP BY person)"
    )
    wanted = bound(canonical(parse(text, declared)).plan, declared).plan
    connection = duckdb.connect()
    connection.execute(
        f"CREATE TABLE visits AS SELECT 'ann' AS person, {2**63 - 1}::BIGINT AS age"
        " FROM range(1000000)"
    )
    naive = "SELECT CAST(SUM(age) AS BIGINT) FROM visits GROUP BY person"
    with pytest.raises(duckdb.Error):
        connection.execute(naive).fetchall()
    _, found = opened(DuckDB(connection).run(wanted, declared, SALT))
    assert sorted(found) == [[1], [2**61], [2**61]]


def test_what_is_known_without_the_data_is_not_asked() -> None:
    """Where a person has one row, everybody's count is 1."""
    declared = catalog(Limits(1, 1))
    text = "SELECT AVG(n) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person)"
    with pytest.raises(InvalidValue, match="only one value"):
        price(parse(text, declared), declared, Loss.zcdp(1))
    declared = catalog(Limits(1, 2))
    assert price(parse(text, declared), declared, Loss.zcdp(1)).bound.plan.max_rows == 1


def test_a_pattern_stands_below_where_its_column_is_seen() -> None:
    declared = catalog(Limits(1, 2))
    text = (
        "SELECT AVG(n) FROM (SELECT person, SUM(age) AS n FROM visits WHERE ward LIKE 'n%'"
        " GROUP BY person)"
    )
    assert bound(parse(text, declared), declared).plan.source.gathered is not None


def test_a_count_names_its_own_groups_where_they_are_few() -> None:
    text = (
        "SELECT n, COUNT(*) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY person) GROUP BY n"
    )
    few = catalog(Limits(1, 3))
    keys = bound(parse(text, few), few).plan.keys[0].keys
    assert keys is not None
    assert keys.values == (1, 2, 3)
    many = catalog(Limits(1, 201))
    with pytest.raises(InvalidValue, match="at most 200 values; use bins"):
        bound(parse(text, many), many)


def test_one_row_a_person_is_bounded_by_one() -> None:
    declared = catalog(Limits(3, 5))
    once = bound(parse(f"SELECT AVG(total) FROM {TOTALS}", declared), declared).plan
    assert (once.max_groups, once.max_rows) == (1, 1)
    often = bound(parse(f"SELECT AVG(total) FROM {BY_WARD}", declared), declared).plan
    assert (often.max_groups, often.max_rows) == (1, 3)
    text = f"SELECT ward, AVG(total) FROM {BY_WARD} GROUP BY ward"
    each = bound(parse(text, declared), declared).plan
    assert (each.max_groups, each.max_rows) == (3, 1)
