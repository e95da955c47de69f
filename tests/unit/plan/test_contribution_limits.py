"""The limits of joined rows follow from the tables, and not from the order of the joins."""

from dataclasses import replace
from itertools import permutations

import pytest

from tacit.core import (
    Bounds,
    Catalog,
    Column,
    Dataset,
    Epoch,
    Keys,
    Kind,
    Limits,
    Link,
    Location,
    Population,
    PrivacyUnit,
    PublicMost,
    PublicTable,
    Schema,
    UnitColumn,
)
from tacit.plan.bounded_plan import sensitivities
from tacit.plan.bounding import bound, gather
from tacit.plan.contribution_limits import (
    determining_tables,
    groups_of,
    limits_before_join,
    limits_of,
)
from tacit.plan.left_out import LeftOut
from tacit.plan.plan import Join, JoinPublic, LeftJoin, Plan, Relation, Scan, Semi
from tacit.plan.source import source_of
from tacit.sql import parse

# ruff: noqa: S608 - our own names

PLACE, EPOCH = "clinic", Epoch("1")


def table(name: str, unit: UnitColumn | Link, limits: Limits) -> Dataset:
    columns = Schema(
        (
            Column("id", Kind.INTEGER),
            Column("patient", Kind.INTEGER),
            Column("visit", Kind.INTEGER),
            Column("kind", Kind.TEXT, keys=Keys(("a", "b", "c", "d"))),
            Column("size", Kind.INTEGER, bounds=Bounds(0, 10)),
        )
    )
    return Dataset(name, "all", columns, unit, limits, Location(PLACE, (name,)), EPOCH)


PEOPLE = table("people", UnitColumn("id"), Limits(1, 1))
VISITS = table("visits", Link("patient", "people", "id"), Limits(3, 5))
LABS = table("labs", Link("visit", "visits", "id"), Limits(2, 7, 4))
LETTERS = table("letters", Link("patient", "people", "id"), Limits(2, 6))
DIARIES = table("diaries", UnitColumn("id"), Limits(4, 9))
CODES = PublicTable(
    "codes",
    Schema((Column("code", Kind.TEXT), Column("part", Kind.TEXT, keys=Keys(("x", "y"))))),
    Location(PLACE, ("codes",)),
    EPOCH,
    lookup=("code",),
    fan_out=2,
)
CATALOG = Catalog(
    (Population("all", PrivacyUnit("person")),),
    (PEOPLE, VISITS, LABS, LETTERS, DIARIES),
    (CODES,),
)

TO_PEOPLE = ("visits.patient", "people.id")
TO_VISITS = ("labs.visit", "visits.id")
LETTERS_TO_PEOPLE = ("letters.patient", "people.id")
DIARIES_TO_PEOPLE = ("diaries.id", "people.id")


def joined(first: str, *pairs: tuple[str, str]) -> Relation:
    """Join tables by pairs of columns, each of which has one side that is there already."""
    relation: Relation = Scan(first)
    there = {first}
    for pair in pairs:
        left, right = pair if pair[0].partition(".")[0] in there else pair[::-1]
        name, _, column = right.partition(".")
        relation = Join(relation, name, left, column)
        there.add(name)
    return relation


def limits(relation: Relation) -> Limits:
    return limits_of(source_of(relation, CATALOG), CATALOG)


@pytest.mark.parametrize("first", ["people", "visits"])
def test_a_visit_is_counted_whichever_table_is_named_first(first: str) -> None:
    assert limits(joined(first, TO_PEOPLE)) == VISITS.limits


@pytest.mark.parametrize(
    ("first", "pairs"),
    [
        ("people", (TO_PEOPLE, TO_VISITS)),
        ("visits", (TO_PEOPLE, TO_VISITS)),
        ("visits", (TO_VISITS, TO_PEOPLE)),
        ("labs", (TO_VISITS, TO_PEOPLE)),
        ("labs", (TO_VISITS,)),
        ("visits", (TO_VISITS,)),
    ],
)
def test_a_chain_has_the_limits_of_its_last_link(
    first: str, pairs: tuple[tuple[str, str], ...]
) -> None:
    assert limits(joined(first, *pairs)) == LABS.limits


@pytest.mark.parametrize(
    ("first", "pairs"),
    [
        ("visits", (TO_PEOPLE, LETTERS_TO_PEOPLE)),
        ("people", (TO_PEOPLE, LETTERS_TO_PEOPLE)),
        ("letters", (LETTERS_TO_PEOPLE, TO_PEOPLE)),
    ],
)
def test_two_tables_with_many_rows_make_every_pair(
    first: str, pairs: tuple[tuple[str, str], ...]
) -> None:
    assert limits(joined(first, *pairs)) == Limits(6, 30)
    source = source_of(joined(first, *pairs), CATALOG)
    assert sorted(determining_tables(source, CATALOG)[0]) == ["letters", "visits"]


@pytest.mark.parametrize("first", ["diaries", "people"])
def test_tables_that_are_joined_by_the_unit_make_every_pair(first: str) -> None:
    # people have one row each by their limits, so that a pair has the limits of a diary
    assert limits(joined(first, DIARIES_TO_PEOPLE)) == DIARIES.limits


def test_limits_of_all_rows_are_multiplied_only_where_each_table_has_one() -> None:
    pairs = (TO_VISITS, TO_PEOPLE, LETTERS_TO_PEOPLE)
    assert limits(joined("labs", *pairs)) == Limits(4, 42)  # letters have no such limit
    assert limits(Scan("labs")) == LABS.limits


def test_a_left_join_has_a_row_of_either_table() -> None:
    # a person has one row in people, so that a visit or its absence is one row
    visits = LeftJoin(Scan("people"), "visits", "people.id", "patient")
    assert limits(visits) == Limits(3, 5)
    labs = LeftJoin(Scan("visits"), "labs", "visits.id", "visit")
    assert limits(labs) == Limits(3 + 2 - 1, 5 + 7 - 1)  # visits have no limit of all rows
    assert limits(LeftJoin(visits, "labs", "visits.id", "visit")) == limits(labs)
    # an inner join drops the rows without a lab
    assert limits(Join(visits, "labs", "visits.id", "visit")) == LABS.limits
    # letters meet visits, or their absence
    letters = Join(visits, "letters", "people.id", "patient")
    assert limits(letters) == Limits(6, 30)
    beyond = Join(labs, "people", "visits.patient", "id")
    pairs = Join(beyond, "letters", "people.id", "patient")
    assert limits(pairs) == Limits((3 + 2 - 1) * 2, (5 + 7 - 1) * 6)
    # a row has one parent, or none
    assert limits(LeftJoin(Scan("visits"), "people", "visits.patient", "id")) == VISITS.limits


def test_nobody_knows_how_many_rows_a_left_join_has_without_a_most_of_both() -> None:
    def rows(*known: str) -> bool:
        declared = tuple(
            replace(each, most_rows=PublicMost(2, "a law")) if each.name in known else each
            for each in CATALOG.datasets
        )
        catalog = replace(CATALOG, datasets=declared)
        text = "SELECT COUNT(*) FROM people LEFT JOIN visits ON people.id = visits.patient"
        return bound(parse(text, catalog), catalog).left_out.rows

    # a person may have several rows in people that have no visit
    assert [rows(), rows("visits"), rows("people")] == [True, True, True]
    assert not rows("visits", "people")


def test_a_semi_join_changes_no_limit() -> None:
    for anti in (False, True):
        kept = Semi(Scan("visits"), Scan("labs"), (("visits.id", "labs.visit"),), anti)
        assert limits(kept) == VISITS.limits


def before(relation: Relation) -> dict[str, int]:
    found = limits_before_join(source_of(relation, CATALOG), CATALOG)
    return {each.dataset: each.most for each in found}


@pytest.mark.parametrize("first", ["people", "visits", "letters"])
def test_tables_that_multiply_are_limited_before(first: str) -> None:
    pairs = (TO_PEOPLE, LETTERS_TO_PEOPLE)
    relation = joined(first, *(pairs if first != "letters" else pairs[::-1]))
    assert before(relation) == {"people": 1, "visits": 3 * 5, "letters": 2 * 6}
    direct = Join(Scan("visits"), "letters", "visits.patient", "patient")
    assert before(direct) == {"visits": 15, "letters": 12}
    assert limits(direct) == limits(relation)


def test_each_table_of_a_chain_is_limited_before() -> None:
    chain = joined("labs", TO_VISITS, TO_PEOPLE, LETTERS_TO_PEOPLE)
    assert before(chain) == {"labs": 4, "visits": 15, "people": 1, "letters": 12}
    # along links rows do not multiply
    assert before(joined("labs", TO_VISITS, TO_PEOPLE)) == {}
    assert before(Scan("labs")) == {}


def test_conditions_of_one_table_are_tested_before_its_limit() -> None:
    def tested(join: str) -> list[int]:
        text = f"""SELECT COUNT(*) FROM visits {join} letters
        ON visits.patient = letters.patient
        WHERE visits.size > 3 AND letters.size < 2 AND visits.size > letters.size"""
        found = gather(parse(text, CATALOG).source, CATALOG).source.limited
        return [len(each.condition.parts) for each in found]

    assert tested("JOIN") == [1, 1]
    # a letter that is missing is tested too, after the join
    assert tested("LEFT JOIN") == [1, 0]


def test_what_a_limit_before_a_join_can_cut_opens_the_interval() -> None:
    def left_out(visits: int | None, letters: int) -> LeftOut:
        mosts = {"visits": visits, "letters": letters}
        declared = tuple(
            replace(each, most_rows=PublicMost(most, "a law"))
            if (most := mosts.get(each.name)) is not None
            else each
            for each in CATALOG.datasets
        )
        text = "SELECT COUNT(*) FROM visits JOIN letters ON visits.patient = letters.patient"
        catalog = replace(CATALOG, datasets=declared)
        return bound(parse(text, catalog), catalog).left_out

    assert not left_out(5, 6).rows
    assert left_out(None, 6).rows
    # 30 pairs are within 5 * 6, but 20 visits are not within 3 * 5
    assert left_out(20, 1).rows
    assert not left_out(15, 2).rows


def test_a_public_table_repeats_rows_and_changes_no_limit() -> None:
    relation = JoinPublic(Scan("labs"), "codes", "labs.kind", "code", False)
    source = source_of(relation, CATALOG)
    assert determining_tables(source, CATALOG) == (("labs",), 2)
    assert limits_of(source, CATALOG) == LABS.limits


def test_a_table_of_one_row_for_each_unit_has_the_limit_one() -> None:
    single = table("single", UnitColumn("id", one_row=True), Limits(9, 9, 3))
    catalog = Catalog(CATALOG.populations, (single,))
    assert limits_of(source_of(Scan("single"), catalog), catalog) == Limits(1, 1)


def test_tables_join_by_their_unit_where_one_has_one_row() -> None:
    single = table("single", UnitColumn("id", one_row=True), Limits(9, 9))
    catalog = Catalog(CATALOG.populations, (single, DIARIES))
    for first, other in permutations(("single", "diaries")):
        relation = Join(Scan(first), other, f"{first}.id", "id")
        assert limits_of(source_of(relation, catalog), catalog) == DIARIES.limits


@pytest.mark.parametrize(
    ("owners", "most"),
    [
        (["people"], 1),
        (["visits"], 3),
        (["people", "visits"], 3),
        (["visits", "visits"], 3),
        (["labs", "visits"], 6),
        ([], 1),
    ],
)
def test_groups_are_those_of_the_tables_that_have_the_keys(
    owners: list[str], most: int
) -> None:
    source = source_of(joined("labs", TO_VISITS, TO_PEOPLE), CATALOG)
    assert groups_of(owners, source, CATALOG) == most


def test_a_key_of_a_public_table_has_the_groups_of_the_rows_that_look_it_up() -> None:
    relation = JoinPublic(
        joined("visits", TO_PEOPLE), "codes", "people.kind", "code", outer=False
    )
    source = source_of(relation, CATALOG)
    assert groups_of(["codes"], source, CATALOG) == 1
    relation = JoinPublic(
        joined("visits", TO_PEOPLE), "codes", "visits.kind", "code", outer=False
    )
    assert groups_of(["codes", "visits"], source_of(relation, CATALOG), CATALOG) == 3


def plan(sql: str) -> Plan:
    return parse(sql, CATALOG)


ON, BY = "ON visits.patient = people.id", "GROUP BY people.kind"


@pytest.mark.parametrize("tables", [f"visits JOIN people {ON}", f"people JOIN visits {ON}"])
def test_a_question_has_one_sensitivity_in_both_orders(tables: str) -> None:
    made = bound(plan(f"SELECT people.kind, COUNT(*) AS n FROM {tables} {BY}"), CATALOG)
    assert (made.plan.max_groups, made.plan.max_rows) == (1, 5)
    neighbours = CATALOG.populations[0].unit.neighbours
    found = sensitivities(made.plan, made.plan.tallies[0], neighbours)
    assert [each.amount for each in found] == [5, 5]


def test_a_key_of_the_rows_keeps_its_groups() -> None:
    made = bound(plan("SELECT visits.kind, COUNT(*) AS n FROM visits GROUP BY kind"), CATALOG)
    assert (made.plan.max_groups, made.plan.max_rows) == (3, 5)
    both = f"SELECT visits.kind AS k, people.kind, COUNT(*) AS n FROM visits JOIN people {ON}"
    made = bound(plan(f"{both} GROUP BY visits.kind, people.kind"), CATALOG)
    assert (made.plan.max_groups, made.plan.max_rows) == (3, 5)


def test_rows_that_are_gathered_have_the_limits_of_what_is_joined() -> None:
    rows = gather(joined("people", TO_PEOPLE), CATALOG)
    assert rows.limits == VISITS.limits
