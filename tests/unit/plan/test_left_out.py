"""Which ends of intervals hold what was asked follows from declarations alone."""

from dataclasses import replace

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
    Provenance,
    PublicMost,
    PublicTable,
    Schema,
    UnitColumn,
)
from tacit.errors import InvalidValue
from tacit.plan.bounding import bound
from tacit.plan.left_out import LeftOut, Slack
from tacit.sql import parse

CLOSED, OPEN, UP, DOWN = Slack(), Slack(False, False), Slack(high=False), Slack(low=False)
ONCE = PublicMost(1, "registered once")
FIVE = PublicMost(5, "a law")


def table(
    name: str, unit: UnitColumn | Link, limits: Limits, most: PublicMost | None
) -> Dataset:
    columns = Schema(
        (
            Column("id", Kind.INTEGER),
            Column("patient", Kind.INTEGER),
            Column("kind", Kind.TEXT, keys=Keys(("a", "b", "c", "d"))),
            Column("size", Kind.INTEGER, bounds=Bounds.of(0, 10)),
            Column("debt", Kind.INTEGER, bounds=Bounds.of(-10, 0)),
            Column("weight", Kind.FLOAT, bounds=Bounds.of(0, 2**20)),
            Column("gain", Kind.INTEGER, bounds=Bounds.of(-10, 10)),
            Column("pay", Kind.INTEGER, bounds=Bounds.of(0, 10, Provenance.POLICY)),
        )
    )
    place = Location("clinic", (name,))
    return Dataset(name, "all", columns, unit, limits, place, Epoch("1"), most_rows=most)


CODES = PublicTable(
    "codes",
    Schema((Column("code", Kind.TEXT), Column("part", Kind.TEXT, keys=Keys(("x", "y"))))),
    Location("clinic", ("codes",)),
    Epoch("1"),
    lookup=("code",),
    fan_out=2,
)


def catalog(
    limits: Limits,
    visits: PublicMost | None = None,
    people: PublicMost | None = None,
    unit: UnitColumn | None = None,
) -> Catalog:
    of_people = table("people", unit or UnitColumn("id"), Limits(1, 1), people)
    link = Link("patient", "people", "id")
    return Catalog(
        (Population("all", PrivacyUnit("person")),),
        (of_people, table("visits", link, limits, visits)),
        (CODES,),
    )


def slack(what: str, declared: Catalog, source: str = "visits", by: str = "") -> Slack:
    """Return the slack of the one measure of a question."""
    key, group = (f"{by}, ", f"GROUP BY {by}") if by else ("", "")
    asked = f"SELECT {key}{what} AS x FROM {source} {group}"  # noqa: S608 - our own names
    [found] = bound(parse(asked, declared), declared).slacks
    return found


def left_out(sql: str, declared: Catalog) -> LeftOut:
    return bound(parse(sql, declared), declared).left_out


UNKNOWN = catalog(Limits(3, 5))
ENOUGH = catalog(Limits(4, 5), FIVE)
FEWER = catalog(Limits(4, 4), FIVE)


@pytest.mark.parametrize(
    ("what", "unknown"),
    [
        ("COUNT(*)", UP),
        ("COUNT(size)", UP),
        ("COUNT(DISTINCT patient)", CLOSED),
        ("SUM(size)", UP),
        ("SUM(debt)", DOWN),
        ("SUM(gain)", OPEN),
        ("AVG(size)", OPEN),
        ("VAR_POP(size)", OPEN),
        ("STDDEV_SAMP(size)", OPEN),
        ("MEDIAN(size)", OPEN),
        ("MIN(size)", DOWN),
        ("MAX(size)", UP),
    ],
)
def test_an_end_is_open_where_rows_can_be_missing_beyond_it(what: str, unknown: Slack) -> None:
    assert slack(what, UNKNOWN) == unknown
    assert slack(what, FEWER) == unknown
    assert slack(what, ENOUGH) == CLOSED


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("COUNT(*)", CLOSED),
        ("COUNT(pay)", CLOSED),
        ("SUM(pay)", Slack(False, False, True)),
        ("AVG(pay)", Slack(False, False, True)),
        ("VAR_POP(pay)", Slack(False, False, True)),
        ("MEDIAN(pay)", Slack(clamped=True)),
        ("MIN(pay)", Slack(clamped=True)),
        ("MAX(pay)", Slack(clamped=True)),
        ("AVG(size)", CLOSED),
    ],
)
def test_numbers_that_are_clamped_to_bounds_that_are_not_public(
    what: str, expected: Slack
) -> None:
    assert slack(what, ENOUGH) == expected


def test_a_condition_on_a_clamped_number_opens_every_interval() -> None:
    opened = Slack(False, False, True)
    assert slack("COUNT(*)", ENOUGH, "visits WHERE pay + 1 > 5") == opened
    # a column that is compared as it is stored is not clamped
    assert slack("COUNT(*)", ENOUGH, "visits WHERE pay > 5") == CLOSED
    assert slack("COUNT(*)", ENOUGH, by="FLOOR(pay / 5) * 5") == opened
    assert slack("COUNT(*)", ENOUGH, by="FLOOR(size / 5) * 5") == CLOSED


def test_groups_of_a_row_key_are_cut_by_the_limit_of_groups() -> None:
    assert slack("COUNT(*)", ENOUGH, by="kind") == CLOSED  # there are only four groups
    fewer = catalog(Limits(3, 5), FIVE)
    assert slack("COUNT(*)", fewer, by="kind") == UP
    assert slack("COUNT(DISTINCT patient)", fewer, by="kind") == UP
    few = catalog(Limits(3, 5), PublicMost(3, "a law"))
    assert slack("COUNT(DISTINCT patient)", few, by="kind") == CLOSED


JOINED = "visits JOIN people ON visits.patient = people.id"


@pytest.mark.parametrize(
    "declared",
    [
        catalog(Limits(3, 5), FIVE, ONCE),
        catalog(Limits(3, 5), FIVE, unit=UnitColumn("id", one_row=True)),
    ],
)
def test_a_key_of_the_persons_own_table_is_one_group(declared: Catalog) -> None:
    assert slack("COUNT(*)", declared, JOINED, by="people.kind") == CLOSED
    assert slack("AVG(visits.size)", declared, JOINED, by="people.kind") == CLOSED
    assert slack("COUNT(*)", declared, JOINED, by="visits.kind") == UP


def test_nobody_knows_how_many_keys_a_person_has_without_a_most() -> None:
    assert slack("COUNT(*)", catalog(Limits(3, 5), FIVE), JOINED, by="people.kind") == UP


def test_a_table_of_one_row_needs_no_declaration() -> None:
    declared = catalog(Limits(3, 5), unit=UnitColumn("id", one_row=True))
    assert slack("AVG(size)", declared, "people") == CLOSED
    found = left_out("SELECT AVG(size) AS x FROM people", declared)
    assert found == LeftOut(False, False, most=1)


def test_rows_that_a_public_table_repeats_are_counted_as_often() -> None:
    source = "visits JOIN codes ON visits.kind = codes.code"
    assert slack("COUNT(*)", UNKNOWN, source) == UP
    assert slack("COUNT(*)", ENOUGH, source) == UP  # five visits make ten rows
    twice = catalog(Limits(4, 10), FIVE)
    assert slack("COUNT(*)", twice, source) == CLOSED
    # the groups of a public table are known by their number alone
    assert slack("COUNT(*)", twice, source, by="codes.part") == CLOSED


PER_PERSON = "(SELECT patient, {} AS n FROM visits GROUP BY patient)"


@pytest.mark.parametrize(
    ("inner", "declared", "expected"),
    [
        ("COUNT(*)", UNKNOWN, OPEN),
        ("COUNT(*)", FEWER, OPEN),
        ("COUNT(*)", ENOUGH, CLOSED),
        ("SUM(size)", UNKNOWN, OPEN),
        ("SUM(size)", FEWER, OPEN),
        ("SUM(size)", ENOUGH, CLOSED),
        ("MAX(size)", UNKNOWN, CLOSED),
        ("AVG(size)", UNKNOWN, CLOSED),
        ("AVG(pay)", UNKNOWN, Slack(False, False, True)),
    ],
)
def test_rows_that_are_aggregated_for_each_person_first(
    inner: str, declared: Catalog, expected: Slack
) -> None:
    assert slack("AVG(n)", declared, PER_PERSON.format(inner)) == expected


def test_rows_of_each_person_and_key() -> None:
    source = "(SELECT patient, kind, MAX(size) AS n FROM visits GROUP BY patient, kind)"
    assert slack("AVG(n)", UNKNOWN, source) == OPEN
    assert slack("AVG(n)", catalog(Limits(5, 5), FIVE), source) == CLOSED
    assert slack("COUNT(*)", catalog(Limits(3, 5), FIVE), source, by="kind") == UP
    assert slack("COUNT(*)", catalog(Limits(4, 5), FIVE), source, by="kind") == CLOSED


def test_rows_of_a_subquery_that_a_public_table_repeats() -> None:
    four, joined = PublicMost(4, "a law"), "JOIN codes ON s.kind = codes.code"
    by_kind = "(SELECT patient, kind, MAX(size) AS n FROM visits GROUP BY patient, kind) s"
    source = f"{by_kind} {joined}"
    assert slack("COUNT(*)", catalog(Limits(4, 5), four), source) == UP
    assert slack("COUNT(*)", catalog(Limits(8, 5), four), source) == CLOSED
    once = catalog(Limits(1, 5), ONCE)
    assert slack("COUNT(*)", once, source, by="codes.part") == UP
    assert slack("COUNT(DISTINCT patient)", once, source, by="codes.part") == UP


def test_people_are_missing_in_groups_where_rows_are_cut_before() -> None:
    in_all = catalog(Limits(4, 5, 4), FIVE)
    assert slack("COUNT(DISTINCT patient)", in_all, by="kind") == UP
    assert slack("COUNT(DISTINCT patient)", catalog(Limits(4, 5, 4)), by="kind") == UP
    assert slack("COUNT(DISTINCT patient)", catalog(Limits(4, 5, 5), FIVE), by="kind") == CLOSED
    assert slack("COUNT(DISTINCT patient)", in_all) == CLOSED


@pytest.mark.parametrize(
    "what",
    [
        "COUNT(CASE WHEN pay + 1 > 50 THEN 1 END)",
        "MEDIAN(size - pay)",
        "MAX(size - pay)",
        "MIN(size + pay)",
        "MEDIAN(CASE WHEN pay + 1 > 5 THEN 1 ELSE 0 END)",
    ],
)
def test_a_clamped_number_inside_of_an_expression_opens_both_ends(what: str) -> None:
    assert slack(what, ENOUGH) == Slack(False, False, True)


@pytest.mark.parametrize(
    ("what", "where"),
    [
        ("COUNT(*)", "WHERE weight + 1 > 6"),
        ("COUNT(CASE WHEN weight + 1 > 6 THEN 1 END)", ""),
        ("SUM(CASE WHEN weight + 1 > 6 THEN 1 ELSE 0 END)", ""),
        ("AVG(CASE WHEN weight + 1 > 6 THEN 1 ELSE 0 END)", ""),
    ],
)
def test_a_comparison_of_a_rounded_number_opens_both_ends(what: str, where: str) -> None:
    assert slack(what, ENOUGH, f"visits {where}") == OPEN


@pytest.mark.parametrize("what", ["COUNT(weight + 1)", "AVG(weight)", "MEDIAN(weight)"])
def test_a_rounded_number_is_covered_where_nothing_depends_on_it(what: str) -> None:
    assert slack(what, ENOUGH) == CLOSED
    assert slack(what, ENOUGH, "visits WHERE weight > 5") == CLOSED


@pytest.mark.parametrize("inner", ["AVG(size)", "MAX(weight)", "SUM(weight)"])
def test_a_comparison_with_a_mean_of_rows_opens_both_ends(inner: str) -> None:
    source = PER_PERSON.format(inner)
    assert slack("COUNT(*)", ENOUGH, f"{source} WHERE n * 3 = 10") == OPEN
    assert slack("AVG(n)", ENOUGH, source) == CLOSED


def test_what_is_known_and_what_is_missing_is_named() -> None:
    by_kind = f"SELECT people.kind, COUNT(*) AS x FROM {JOINED} GROUP BY people.kind"  # noqa: S608
    assert left_out(by_kind, catalog(Limits(3, 5), FIVE, ONCE)) == LeftOut(
        rows=False,
        units=False,
        known=(
            "nobody has more than 5 rows of visits (a law)",
            "nobody has more than 1 row of people (registered once)",
        ),
        most=5,
        groups=1,
    )
    assert left_out("SELECT COUNT(*) AS x FROM visits", UNKNOWN).unknown == ("visits",)
    assert left_out(by_kind, catalog(Limits(3, 5), FIVE)).unknown == ("people",)
    per_person = f"SELECT AVG(n) AS x FROM {PER_PERSON.format('COUNT(*)')}"  # noqa: S608
    assert left_out(per_person, UNKNOWN) == LeftOut(
        rows=False, units=False, below=5, unknown=("visits",), most=1
    )


def test_limits_of_all_rows_are_limits_too() -> None:
    declared = catalog(Limits(4, 5, 3), FIVE)
    assert slack("COUNT(*)", declared) == UP
    assert slack("COUNT(*)", catalog(Limits(4, 5, 5), FIVE)) == CLOSED


@pytest.mark.parametrize("rows", [0, -1, 10**9 + 1])
def test_a_most_that_no_table_has_is_refused(rows: int) -> None:
    with pytest.raises(InvalidValue, match="must be from 1 to 1000000000"):
        PublicMost(rows, "a law")


@pytest.mark.parametrize("source", ["", " "])
def test_a_most_without_a_source_is_refused(source: str) -> None:
    with pytest.raises(InvalidValue, match="Say from which public fact it follows"):
        PublicMost(5, source)


def test_a_most_changes_no_limit() -> None:
    declared = bound(parse("SELECT COUNT(*) AS x FROM visits", ENOUGH), ENOUGH).plan
    without = replace(
        ENOUGH, datasets=tuple(replace(each, most_rows=None) for each in ENOUGH.datasets)
    )
    assert bound(parse("SELECT COUNT(*) AS x FROM visits", without), without).plan == declared
