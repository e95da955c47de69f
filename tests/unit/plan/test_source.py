"""The tables that an engine reads, how rows find their unit, and what only the owner says."""

from dataclasses import replace

import pytest
from ward import CATALOG, PATIENTS, TO_PATIENT, VISITS, dataset, ward

from tacit.core.catalog import Catalog, Epoch, Limits, Link, UnitColumn, ValidatedCopy
from tacit.core.domain import Kind
from tacit.errors import InvalidValue, UnknownName
from tacit.plan.bounding import gather
from tacit.plan.expression import Constant
from tacit.plan.plan import (
    CountRows,
    Filter,
    Join,
    JoinPublic,
    PerUnit,
    Relation,
    Scan,
    UnitValue,
)
from tacit.plan.source import (
    Fold,
    JoinedTable,
    Source,
    assumptions,
    one_row,
    row_keys,
    source_of,
)

VISIT, LAB, NOTE = Scan("visits"), Scan("labs"), Scan("notes")
TO_PATIENTS = JoinedTable("patients", "visits.patient", "patients.id")
TO_VISITS = JoinedTable("visits", "labs.visit", "visits.id")
JOINED = Join(VISIT, "patients", "visits.patient", "id")
LOOKED_UP = JoinPublic(VISIT, "regions", "visits.ward", "ward")
UNITS = PerUnit(JOINED, (), (UnitValue("n", CountRows()),))

FOUND: list[tuple[Relation, Source]] = [
    (Scan("patients"), Source("patients", (), "patients.person")),
    # the table on the way to the unit is read too
    (VISIT, Source("visits", (TO_PATIENTS,), "patients.person")),
    (LAB, Source("labs", (TO_VISITS, TO_PATIENTS), "patients.person")),
    (JOINED, Source("visits", (TO_PATIENTS,), "patients.person")),
    (Filter(JOINED, Constant(True)), Source("visits", (TO_PATIENTS,), "patients.person")),
    (
        Join(Scan("patients"), "visits", "patients.id", "patient"),
        Source(
            "patients",
            (JoinedTable("visits", "patients.id", "visits.patient"),),
            "patients.person",
        ),
    ),
    (
        Join(NOTE, "patients", "notes.person", "person"),
        Source(
            "notes",
            (JoinedTable("patients", "notes.person", "patients.person"),),
            "notes.person",
        ),
    ),
    (
        LOOKED_UP,
        Source(
            "visits",
            (JoinedTable("regions", "visits.ward", "regions.ward"), TO_PATIENTS),
            "patients.person",
        ),
    ),
    (
        replace(LOOKED_UP, outer=True),
        Source(
            "visits",
            (JoinedTable("regions", "visits.ward", "regions.ward", outer=True), TO_PATIENTS),
            "patients.person",
        ),
    ),
    (UNITS, Source("visits", (), "patients.person")),
]
REFUSED: list[tuple[Relation, str]] = [
    (
        Join(VISIT, "patients", "visits.id", "id"),
        r"visits\.id = patients\.id is not a declared link and does not equate the unit",
    ),
    (Join(VISIT, "patients", "visits.patient", "age"), "is not a declared link"),
    (Join(VISIT, "labs", "visits.patient", "visit"), "is not a declared link"),
    (Join(NOTE, "patients", "notes.words", "person"), "is not a declared link"),
    (Join(JOINED, "patients", "visits.patient", "id"), "A question can join a table only once"),
    (Join(NOTE, "staff", "notes.person", "person"), "join only datasets of one population"),
    (
        Join(VISIT, "visits", "labs.visit", "id"),
        r"'visits' is joined by labs\.visit, but the table of that column is not",
    ),
    (JoinPublic(VISIT, "patients", "visits.patient", "id"), "'patients' is not a public table"),
    (
        JoinPublic(VISIT, "regions", "visits.ward", "region"),
        "'regions' cannot be joined by 'region'; its declared lookup columns are: ward. If",
    ),
    (
        Join(UNITS, "patients", "visits.patient", "id"),
        "'patients' is joined to a subquery that aggregates; join it inside",
    ),
    (Scan("regions"), r"'regions' is a public table, and not a dataset\. Query it in its"),
]


@pytest.mark.parametrize(("relation", "source"), FOUND)
def test_the_tables_on_the_way_to_the_unit(relation: Relation, source: Source) -> None:
    assert source_of(relation, CATALOG) == source


@pytest.mark.parametrize(("relation", "told"), REFUSED)
def test_a_join_along_no_link_is_refused(relation: Relation, told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        source_of(relation, CATALOG)


def test_a_table_that_is_not_there_is_named() -> None:
    with pytest.raises(UnknownName, match="no dataset 'visit'; there are: patients, visits"):
        source_of(Scan("visit"), CATALOG)


def test_a_public_table_without_lookup_columns_says_none() -> None:
    bare = CATALOG.with_tables(replace(CATALOG.public[0], lookup=()))
    with pytest.raises(InvalidValue, match=r"lookup columns are: none\. .* 16 is the most"):
        source_of(LOOKED_UP, bare)


def test_a_link_that_holds_the_unit_itself_needs_no_other_table() -> None:
    unit = UnitColumn("id")
    catalog = Catalog(
        CATALOG.populations[:1],
        (dataset("patients", PATIENTS, unit), dataset("visits", VISITS, TO_PATIENT)),
    )
    assert source_of(VISIT, catalog) == Source("visits", (), "visits.patient")


def test_all_tables_of_a_source_come_in_order() -> None:
    assert source_of(LAB, CATALOG).datasets == ("labs", "visits", "patients")
    above = gather(JoinPublic(UNITS, "regions", "below.n", "ward"), looked_up_by_numbers())
    assert above.source.datasets == ("visits", "patients", "regions")


def looked_up_by_numbers() -> Catalog:
    """The catalogue with a public table whose wards are whole numbers."""
    table = CATALOG.public[0]
    columns = tuple(
        replace(column, kind=Kind.INTEGER) if column.name == "ward" else column
        for column in table.schema.columns
    )
    return CATALOG.with_tables(replace(table, schema=replace(table.schema, columns=columns)))


def one_row_each(**changed: bool) -> Catalog:
    people = dataset("patients", PATIENTS, UnitColumn("person", one_row=True, **changed))
    return CATALOG.with_tables(people)


def test_a_unit_has_one_row_where_the_owner_says_so_of_the_only_table() -> None:
    people = source_of(Scan("patients"), CATALOG)
    assert not one_row(people, CATALOG)
    assert one_row(people, one_row_each())
    assert not one_row(source_of(VISIT, one_row_each()), one_row_each())
    assert gather(Scan("patients"), one_row_each()).limits == Limits(1, 1)
    visits = ward(visits=Limits(9, 8, 7))
    assert gather(VISIT, visits).limits == Limits(9, 8, 7)


def test_gathered_rows_are_one_for_each_unit_without_keys() -> None:
    assert one_row(gather(UNITS, CATALOG).source, CATALOG)
    by_ward = replace(UNITS, keys=("visits.ward",))
    assert not one_row(gather(by_ward, CATALOG).source, CATALOG)


def test_what_the_owner_says_of_a_link_is_printed_until_something_keeps_it() -> None:
    visits = source_of(VISIT, CATALOG)
    assert assumptions(visits, CATALOG) == ("patients.id is unique",)
    kept = Link("patient", "patients", "id", unique_by_constraint=True)
    by_engine = CATALOG.with_tables(dataset("visits", VISITS, kept))
    assert assumptions(visits, by_engine) == ()
    people = CATALOG.dataset("patients")
    copy = ValidatedCopy(
        (("main", "tacit_patients_0"),), Epoch("1"), ordered=False, unique=("id",)
    )
    assert assumptions(visits, CATALOG.with_tables(replace(people, copy=copy))) == ()
    other = replace(copy, unique=("person",))
    told = assumptions(visits, CATALOG.with_tables(replace(people, copy=other)))
    assert told == ("patients.id is unique",)


def test_a_link_that_is_followed_backwards_is_an_assumption_too() -> None:
    relation = Join(Scan("patients"), "visits", "patients.id", "patient")
    source = source_of(relation, CATALOG)
    assert assumptions(source, CATALOG) == ("patients.id is unique",)
    kept = Link("patient", "patients", "id", unique_by_constraint=True)
    by_engine = CATALOG.with_tables(dataset("visits", VISITS, kept))
    assert assumptions(source_of(relation, by_engine), by_engine) == ()


def test_one_row_each_is_an_assumption_unless_the_engine_keeps_it() -> None:
    people = source_of(Scan("patients"), one_row_each())
    assert assumptions(people, one_row_each()) == ("patients.person is unique",)
    kept = one_row_each(unique_by_constraint=True)
    assert assumptions(people, kept) == ()
    assert assumptions(source_of(Scan("patients"), CATALOG), CATALOG) == ()


def test_public_tables_are_about_nobody_and_tables_in_place_do_not_fail() -> None:
    source = source_of(LOOKED_UP, CATALOG)
    assert assumptions(source, CATALOG) == (
        "regions contains no personal data",
        "patients.id is unique",
    )
    in_place = CATALOG.with_tables(dataset("visits", VISITS, TO_PATIENT, in_place=True))
    told = assumptions(source, in_place)
    assert told[0] == (
        "no query on visits, which is read in place, fails or takes longer because of one "
        "person's rows"
    )
    assert told[1:] == assumptions(source, CATALOG)


def test_what_is_below_units_is_assumed_too() -> None:
    rows = gather(UNITS, CATALOG)
    assert assumptions(rows.source, CATALOG) == ("patients.id is unique",)


def test_rows_are_told_apart_where_every_table_says_how() -> None:
    source = source_of(VISIT, CATALOG)
    assert row_keys(source, CATALOG) == ()
    visits = dataset("visits", VISITS, TO_PATIENT, row_key="id")
    assert row_keys(source, CATALOG.with_tables(visits)) == ()
    people = dataset("patients", PATIENTS, UnitColumn("person"), row_key="person")
    both = CATALOG.with_tables(visits, people)
    assert row_keys(source, both) == (
        ("visits.id", Kind.INTEGER),
        ("patients.person", Kind.TEXT),
    )
    assert row_keys(source_of(LOOKED_UP, both), both) == ()
    assert row_keys(gather(UNITS, both).source, both) == ()


@pytest.mark.parametrize(("number", "folds"), [(-1, 5), (5, 5), (0, 1), (0, 0), (2, 2)])
def test_a_fold_is_one_of_two_or_more(number: int, folds: int) -> None:
    with pytest.raises(InvalidValue, match=f"fold {number} of {folds} was given"):
        Fold(number, folds)


def test_the_others_of_a_fold_are_outside_of_it() -> None:
    for number, folds in ((0, 2), (1, 2), (4, 5)):
        fold = Fold(number, folds)
        assert fold.outside is False
        assert fold.others == Fold(number, folds, outside=True)
        assert fold.others.others == fold
