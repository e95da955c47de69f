"""A profile says of how many people rows are cut, and so how far an interval must reach."""

from dataclasses import replace
from fractions import Fraction

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
    RowsProfile,
    Schema,
    TailAssumption,
    UnitColumn,
)
from tacit.errors import InvalidValue
from tacit.plan.bounding import bound
from tacit.plan.left_out import Slack
from tacit.sql import parse

PROFILE = RowsProfile(5, 24, "1")
COLUMNS = Schema(
    (
        Column("id", Kind.INTEGER),
        Column("patient", Kind.INTEGER),
        Column("kind", Kind.TEXT, keys=Keys(("a", "b", "c", "d"))),
        Column("size", Kind.INTEGER, bounds=Bounds.of(0, 10)),
        Column("gain", Kind.INTEGER, bounds=Bounds.of(-3, 10)),
        Column("pay", Kind.INTEGER, bounds=Bounds.of(0, 10, Provenance.POLICY)),
    )
)
CODES = PublicTable(
    "codes",
    Schema((Column("code", Kind.TEXT), Column("part", Kind.TEXT, keys=Keys(("x", "y"))))),
    Location("clinic", ("codes",)),
    Epoch("1"),
    lookup=("code",),
    fan_out=2,
)


def catalog(limits: Limits, profile: RowsProfile | None = PROFILE, **more: object) -> Catalog:
    people = Dataset(
        "people",
        "all",
        COLUMNS,
        UnitColumn("id", one_row=True),
        Limits(1, 1),
        Location("clinic", ("people",)),
        Epoch("1"),
    )
    visits = replace(
        people,
        name="visits",
        unit=Link("patient", "people", "id"),
        limits=limits,
        location=Location("clinic", ("visits",)),
        profile=profile,
    )
    visits = replace(visits, **more)  # type: ignore[arg-type]
    everybody = Population("all", PrivacyUnit("person"))
    return Catalog((everybody,), (people, visits), (CODES,))


def slack(what: str, declared: Catalog, by: str = "", source: str = "visits") -> Slack:
    key, group = (f"{by}, ", f"GROUP BY {by}") if by else ("", "")
    asked = f"SELECT {key}{what} AS x FROM {source} {group}"  # noqa: S608 - our own names
    [found] = bound(parse(asked, declared), declared).slacks
    return found


ALL_BUT = Slack(all_but=24, measured=True)


@pytest.mark.parametrize(
    "what", ["COUNT(*)", "COUNT(size)", "SUM(size)", "SUM(gain)", "AVG(size)", "VAR_POP(size)"]
)
def test_without_a_most_an_interval_is_for_all_but_a_few(what: str) -> None:
    assert slack(what, catalog(Limits(1, 5))) == ALL_BUT


@pytest.mark.parametrize(("limit", "each"), [(5, 15), (8, 12)])
def test_a_most_says_how_many_rows_of_a_few_are_missing(limit: int, each: int) -> None:
    declared = catalog(Limits(1, limit), most_rows=PublicMost(20, "a law"))
    rows = Fraction(24 * each)
    assert slack("COUNT(*)", declared) == Slack(above=rows, measured=True)
    assert slack("SUM(size)", declared) == Slack(above=rows * 10, measured=True)
    assert slack("SUM(gain)", declared) == Slack(below=rows * 3, above=rows * 10, measured=True)
    assert slack("AVG(size)", declared) == Slack(missing=int(rows), measured=True)
    assert slack("MEDIAN(size)", declared) == ALL_BUT


def test_an_assumption_about_the_tail_closes_too() -> None:
    declared = catalog(Limits(1, 8), tail=TailAssumption(6, "last year", beyond=5))
    assert slack("COUNT(*)", declared) == Slack(above=Fraction(24 * 6), measured=True)
    found = bound(parse("SELECT COUNT(*) AS x FROM visits", declared), declared).left_out.cut
    assert found is not None
    assert "assumed" in found.fact
    assert "last year" in found.fact
    both = catalog(
        Limits(1, 8), tail=TailAssumption(6, "x", beyond=5), most_rows=PublicMost(9, "y")
    )
    assert slack("COUNT(*)", both) == Slack(above=Fraction(24), measured=True)


def test_a_tail_beyond_another_limit_closes_nothing() -> None:
    declared = catalog(Limits(1, 8), tail=TailAssumption(6, "last year", beyond=8))
    assert slack("COUNT(*)", declared) == ALL_BUT


def test_new_data_of_a_parent_end_a_profile() -> None:
    declared = catalog(Limits(1, 5))
    people = replace(declared.dataset("people"), epoch=Epoch("2"))
    assert slack("COUNT(*)", declared.with_tables(people)) == Slack(high=False)
    assert declared.with_tables(people).epochs_of("visits") == "1 / 2"


def test_nobody_beyond_the_limit_is_still_a_measurement() -> None:
    declared = catalog(Limits(1, 5), RowsProfile(5, 0, "1"))
    assert slack("COUNT(*)", declared) == Slack(measured=True)
    assert slack("AVG(size)", declared) == Slack(measured=True)


@pytest.mark.parametrize(
    "declared",
    [
        catalog(Limits(1, 5), None),
        catalog(Limits(1, 5), RowsProfile(5, 24, "0")),
        catalog(Limits(1, 4)),
        catalog(Limits(1, 5, 4)),
    ],
    ids=["none", "another epoch", "a lower limit", "fewer rows in all"],
)
def test_a_profile_that_does_not_fit_closes_nothing(declared: Catalog) -> None:
    assert slack("COUNT(*)", declared) == Slack(high=False)
    assert slack("AVG(size)", declared) == Slack(low=False, high=False)


def test_groups_of_a_person_count_too() -> None:
    # five rows are in up to four groups of the four
    assert slack("COUNT(*)", catalog(Limits(3, 5)), by="kind") == Slack(high=False)
    assert slack("COUNT(*)", catalog(Limits(4, 5)), by="kind") == ALL_BUT
    most = catalog(Limits(3, 5), RowsProfile(3, 24, "1"), most_rows=PublicMost(20, "a law"))
    # a person beyond the limit can lose a whole group
    assert slack("COUNT(*)", most, by="kind") == Slack(above=Fraction(480), measured=True)
    assert slack("COUNT(DISTINCT patient)", most, by="kind") == Slack(
        above=Fraction(24), measured=True
    )


def test_rows_that_a_public_table_repeats_count_twice() -> None:
    joined = "visits JOIN codes ON visits.kind = codes.code"
    assert slack("COUNT(*)", catalog(Limits(1, 9)), source=joined) == Slack(high=False)
    assert slack("COUNT(*)", catalog(Limits(1, 10)), source=joined) == ALL_BUT
    most = catalog(Limits(1, 10), most_rows=PublicMost(20, "a law"))
    assert slack("COUNT(*)", most, source=joined).above == 24 * (40 - 10)


def test_clamped_numbers_stay_open() -> None:
    assert slack("SUM(pay)", catalog(Limits(1, 5))) == Slack(False, False, clamped=True)
    assert slack("AVG(pay)", catalog(Limits(1, 5))) == Slack(False, False, clamped=True)


@pytest.mark.parametrize(("rows", "people"), [(0, 1), (-3, 1), (1, -1), (10**10, 1)])
def test_a_profile_out_of_range_is_refused(rows: int, people: int) -> None:
    with pytest.raises(InvalidValue, match="profile"):
        RowsProfile(rows, people, "1")


@pytest.mark.parametrize(("rows", "source"), [(0, "x"), (3, " ")])
def test_a_tail_needs_rows_and_a_source(rows: int, source: str) -> None:
    with pytest.raises(InvalidValue, match="assumed"):
        TailAssumption(rows, source, beyond=3)
