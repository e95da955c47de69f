"""Joins and semi-joins over tables that break them: each meets rows of one person only."""

from collections.abc import Sequence
from dataclasses import replace

import hospital
import pytest
from conftest import Bar
from engines_over import ENGINES, Over, duckdb_over, reference
from hospital import Patient, Visit, catalog, tables
from neighbouring import SALT, opened

from tacit.core.catalog import Catalog, Dataset, Epoch, Limits, Link, Location, UnitColumn
from tacit.core.domain import Bounds, Column, Kind, Schema
from tacit.engines.print import relation
from tacit.engines.print.sql_builder import select_from, with_relations
from tacit.engines.print.sql_dialects import DUCKDB
from tacit.engines.reference import Row, Tables
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.plan.contribution_limits import limits_of
from tacit.plan.source import Source, assumptions
from tacit.sql.parser import parse

WIDE = Limits(max_groups=9, max_rows=50)


def planned(text: str, declared: Catalog) -> BoundedPlan:
    return bound(canonical(parse(text, declared)).plan, declared).plan


def found(over: Over, text: str, declared: Catalog, held: Tables) -> list[int]:
    """The first integer of each group."""
    plan = planned(text, declared)
    return opened(over(declared, held).run(plan, declared, SALT))[1][0]


ANN = Patient("ann", "Bern", (Visit("north", 50, (3,)), Visit("south", 60, ())))
BOB = Patient("bob", "Ulm", (Visit(None, 20, (1, None)), Visit("south", 20, ())))

# NULL ----------------------------------------------------------------------------------------

NOT_IN = """SELECT COUNT(*) FROM visits v WHERE ward NOT IN (SELECT w.ward FROM visits w
WHERE w.patient = v.patient AND w.id IN (SELECT visit FROM labs))"""
NOT_EXISTS = """SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM visits w
WHERE w.patient = v.patient AND w.ward = v.ward AND w.age > 99)"""


@pytest.mark.parametrize("over", [reference, duckdb_over], ids=["reference", "duckdb"])
def test_a_null_in_a_list_empties_the_answer_of_nobody(over: Over) -> None:
    # a visit of Bob with labs has no ward, so that his list has a NULL
    declared = catalog(WIDE)
    assert found(over, NOT_IN, declared, tables([ANN])) == [1]
    assert found(over, NOT_IN, declared, tables([ANN, BOB])) == [2]
    # a row whose own value is NULL is in no answer of IN and of NOT IN, but of NOT EXISTS
    assert found(over, NOT_IN.replace("NOT IN", "IN"), declared, tables([ANN, BOB])) == [1]
    assert found(over, NOT_EXISTS, declared, tables([ANN, BOB])) == [4]


# A parent that is not unique -----------------------------------------------------------------

IN_BERN = """SELECT COUNT(*) FROM visits
WHERE patient IN (SELECT id FROM patients WHERE city = 'Bern')"""


def shared_number(*people: str) -> Tables:
    """Tables in which people share the number of a patient, and so a visit."""
    cities = {"ann": "Bern", "bob": "Ulm"}
    rows: Sequence[Row] = [{"id": 7, "person": each, "city": cities[each]} for each in people]
    visit: Row = {"id": 70, "patient": 7, "ward": "north", "age": 30}
    return {**tables([]), ("patients",): rows, ("visits",): [visit]}


@pytest.mark.parametrize("over", [reference, duckdb_over], ids=["reference", "duckdb"])
def test_a_shared_number_brings_no_row_of_another_person_in(over: Over) -> None:
    declared = catalog(WIDE)
    # the joined row of Ann, who lives in Bern, and not that of Bob
    assert found(over, IN_BERN, declared, shared_number("ann", "bob")) == [1]
    assert found(over, IN_BERN, declared, shared_number("bob")) == [0]
    negated = IN_BERN.replace("IN (", "NOT IN (")
    assert found(over, negated, declared, shared_number("ann", "bob")) == [1]


def test_links_of_a_subselect_are_in_the_guarantee() -> None:
    declared = catalog(WIDE)
    plan = planned("SELECT COUNT(*) FROM visits WHERE id IN (SELECT visit FROM labs)", declared)
    assert assumptions(plan.source, declared) == ("visits.id is unique",)
    # that a person has one row is not needed to ask whether there is one
    patients = replace(declared.dataset("patients"), unit=UnitColumn("person", one_row=True))
    once = replace(declared, datasets=(patients, *declared.datasets[1:]))
    plan = planned(IN_BERN, once)
    assert assumptions(plan.source, once) == ()
    plan = planned("SELECT COUNT(*) FROM patients", once)
    assert assumptions(plan.source, once) == ("patients.person is unique",)


# Rows of two tables --------------------------------------------------------------------------

BILLS, CALLS = Limits(1, 3), Limits(2, 3, max_rows_in_all=4)
BOTH = "SELECT COUNT(*), SUM(cost) FROM bills JOIN calls ON bills.person = calls.person"


def shop(row_key: str | None = None, bills: Limits = BILLS) -> Catalog:
    """The hospital with two more tables that name the person."""
    declared = catalog(WIDE)

    def dataset(name: str, limits: Limits, *columns: Column) -> Dataset:
        schema = Schema((Column("person", Kind.TEXT), Column("id", Kind.INTEGER), *columns))
        place = Location("here", (name,))
        unit = UnitColumn("person")
        return Dataset(name, "people", schema, unit, limits, place, Epoch("1"), row_key)

    cost = Column("cost", Kind.FLOAT, bounds=Bounds.of(0, 10))
    more = (dataset("bills", bills, cost), dataset("calls", CALLS, Column("day", Kind.DATE)))
    return replace(declared, datasets=(*declared.datasets, *more))


def many(people: Sequence[str | None], bills: int, calls: int) -> Tables:
    costs = (0.0, -0.0, 3.5, None, float("nan"), 1e300)
    return {
        **tables([]),
        ("bills",): [
            {"person": person, "id": place, "cost": costs[place % 6]}
            for person in people
            for place in range(bills)
        ],
        ("calls",): [
            {"person": person, "id": place // 2, "day": None}
            for person in people
            for place in range(calls)
        ],
    }


def joined_rows(text: str, declared: Catalog, held: Tables) -> int:
    """The rows that the join of the printed statement makes."""
    source = planned(text, declared).source
    made = relation.rows(source, declared, DUCKDB, salt=SALT)
    query = with_relations(select_from(list(made)[-1]), made).sql("duckdb")
    connection = hospital.database(tables([]))
    for name, kinds in (("bills", "cost DOUBLE"), ("calls", "day DATE")):
        connection.execute(f"CREATE TABLE {name} (person VARCHAR, id BIGINT, {kinds})")
        for row in held[name,]:
            connection.execute(f"INSERT INTO {name} VALUES (?, ?, ?)", list(row.values()))  # noqa: S608
    [(count,)] = connection.execute(f"SELECT COUNT(*) FROM ({query})").fetchall()  # noqa: S608
    return int(count)


def test_two_tables_are_bounded_before_they_multiply(bar: Bar) -> None:
    declared, held = shop(), many(["ann"], 200, 150)
    made = joined_rows(BOTH, declared, held)
    bar("rows of a join for a person with 200 and 150 rows", made, "at most 12", made <= 12)
    assert limits_of(planned(BOTH, declared).source, declared).max_rows_in_all is None
    # what does not count takes no place
    few = f"{BOTH} WHERE bills.id >= 198 AND calls.id = 74"
    assert joined_rows(few, declared, held) == 2 * 2
    # within its limits a person loses nothing
    assert joined_rows(BOTH, declared, many(["ann", "bob"], 3, 4)) == 2 * 12


@pytest.mark.parametrize("row_key", [None, "id"])
def test_the_order_of_a_join_does_not_matter(row_key: str | None) -> None:
    declared, held = shop(row_key), many(["ann", "bob", None], 7, 9)
    other = "SELECT COUNT(*), SUM(cost) FROM calls JOIN bills ON bills.person = calls.person"
    plans = [planned(text, declared) for text in (BOTH, other)]
    assert plans[0].max_rows == plans[1].max_rows == BILLS.max_rows * CALLS.max_rows
    assert {each.most for plan in plans for each in plan.source.limited} == {3, 4}
    answers = [
        opened(over(declared, held).run(plan, declared, SALT))
        for plan in plans
        for over in (reference, duckdb_over)
    ]
    assert answers == [answers[0]] * 4


def test_one_row_for_each_person_cannot_multiply() -> None:
    declared = shop()
    bills = replace(declared.dataset("bills"), unit=UnitColumn("person", one_row=True))
    others = [each for each in declared.datasets if each.name != "bills"]
    once = replace(declared, datasets=(*others, bills))
    assert planned(BOTH, once).source.limited == ()
    along = planned("SELECT COUNT(*) FROM labs JOIN visits ON visit = visits.id", declared)
    assert along.source.limited == ()


def test_tables_with_links_to_one_parent_meet_too() -> None:
    declared = catalog(WIDE)
    schema = Schema((Column("patient", Kind.INTEGER), Column("drug", Kind.TEXT)))
    drugs = Dataset(
        *("drugs", "people", schema, Link("patient", "patients", "id")),
        *(Limits(2, 2), Location("here", ("drugs",)), Epoch("1")),
    )
    more = replace(declared, datasets=(*declared.datasets, drugs))
    direct = "SELECT COUNT(*) FROM visits JOIN drugs ON visits.patient = drugs.patient"
    by_parent = """SELECT COUNT(*) FROM visits JOIN patients ON visits.patient = patients.id
    JOIN drugs ON drugs.patient = patients.id"""
    held = {
        **tables([ANN, BOB]),
        ("drugs",): [{"patient": at % 2, "drug": "x"} for at in range(6)],
    }
    sources = [planned(text, more).source for text in (direct, by_parent)]
    assert sources[0].unit == sources[1].unit == "patients.person"
    assert [len(each.limited) for each in sources] == [3, 3]
    for over in (reference, duckdb_over):
        assert found(over, direct, more, held) == found(over, by_parent, more, held) == [12]


# LEFT JOIN -----------------------------------------------------------------------------------

LEFT = "SELECT COUNT(*), COUNT(age) FROM patients LEFT JOIN visits ON patient = patients.id"


@pytest.mark.parametrize("over", [reference, duckdb_over], ids=["reference", "duckdb"])
def test_people_without_rows_count_once(over: Over) -> None:
    declared = catalog(WIDE)
    held = tables([ANN, BOB, Patient("cid", "Ulm", ())])
    plan = planned(LEFT, declared)
    rows, ages = opened(over(declared, held).run(plan, declared, SALT))[1]
    assert (rows, ages) == ([5], [4])
    inner = LEFT.replace("LEFT ", "")
    assert found(over, inner, declared, held) == [4]


def test_the_limit_of_a_left_join_is_reached_and_not_passed() -> None:
    declared = catalog(Limits(1, 2))
    several = replace(declared.dataset("visits"), limits=Limits(1, 3))
    declared = replace(declared, datasets=(declared.datasets[0], several, declared.datasets[2]))
    plan = planned(LEFT, declared)
    assert plan.max_rows == 2 + 3 - 1
    # one of two rows of a patient has all three visits
    held: Tables = {
        **tables([]),
        ("patients",): [{"id": at, "person": "ann", "city": None} for at in (1, 2)],
        ("visits",): [
            {"id": at, "patient": 1, "ward": None, "age": None} for at in range(10, 13)
        ],
    }
    for over in (reference, duckdb_over):
        assert found(over, LEFT, declared, held) == [4]
        # the lie: with a limit that is lower by one, a row of a person within it is cut
        low = replace(plan.tallies[0], high=3)
        lie = replace(plan, max_rows=3, tallies=(low, *plan.tallies[1:]))
        assert opened(over(declared, held).run(lie, declared, SALT))[1][0] == [3]


def test_semi_joins_do_not_change_limits() -> None:
    declared = catalog(Limits(2, 3, 4))
    plain = planned("SELECT COUNT(*) FROM visits", declared)
    kept = planned("SELECT COUNT(*) FROM visits WHERE id IN (SELECT visit FROM labs)", declared)
    assert (kept.max_rows, kept.max_groups) == (plain.max_rows, plain.max_groups)
    assert kept.max_rows_in_all == plain.max_rows_in_all
    assert kept.tallies == plain.tallies
    assert isinstance(kept.source.semis[0].source, Source)


# Engines -------------------------------------------------------------------------------------

EVERYWHERE = (NOT_IN, NOT_EXISTS, IN_BERN, LEFT, BOTH)


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_finds_the_same(name: str) -> None:
    declared = shop()
    more = {at: rows for at, rows in many(["ann", None, "bob"], 7, 9).items() if rows}
    held = {**tables([ANN, BOB]), **more}
    engines = [over(declared, held) for over in (reference, ENGINES[name])]
    for text in EVERYWHERE:
        plan = planned(text, declared)
        one, other = (opened(engine.run(plan, declared, SALT)) for engine in engines)
        assert one == other, text
