"""What an owner says of a table and one person's rows can break: a copy repairs it.

One row each, keys that are one person's alone, keys that tell rows apart. None of it is
believed in a copy, and none of it stops the copy from being made, but for keys of linked tables
of which a person has several: there no repair bounds what one person moves, and the owner is
refused.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import hospital
import pytest
from conftest import Bar
from engines_over import ENGINES
from neighbouring import SALT, opened
from test_copies import DIALECTS, owner
from test_copies import prepared as prepared_visits
from test_copies import visits as numbered_visits

from tacit.core.catalog import Catalog, Limits, Link, UnitColumn
from tacit.core.loss import Loss
from tacit.engines.prepare import Preparation
from tacit.engines.reference import Row, Tables
from tacit.errors import InvalidValue
from tacit.plan.bounding import bound
from tacit.query.pricing import price
from tacit.sql.parser import parse

WHERE = {"duckdb": "main", "postgresql": "public", "spark": "default"}
PATIENTS = "SELECT COUNT(*) FROM patients"
VISITS = "SELECT COUNT(*) FROM visits"
BOTH = "SELECT COUNT(*) FROM visits v JOIN patients p ON v.patient = p.id WHERE city = 'Bern'"
NAMELESS = "SELECT COUNT(*) FROM patients WHERE id IS NULL"
QUESTIONS = (PATIENTS, VISITS, BOTH, NAMELESS)


def declared(*, one_row: bool = True) -> Catalog:
    """The hospital, each of whose people counts once in an answer; no engine keeps its keys."""
    catalog = hospital.catalog(Limits(1, 1))
    patients, visits, labs = catalog.datasets
    patients = replace(patients, unit=UnitColumn("person", one_row))
    visits = replace(visits, unit=Link("patient", "patients", "id"))
    return replace(catalog, datasets=(patients, visits, labs))


def tables(patients: Sequence[Row], *, visited: Sequence[int] = range(4)) -> Tables:
    """Patients, and one visit of each of the first few numbers."""
    visits = [{"id": at, "patient": at, "ward": "north", "age": 40} for at in visited]
    found = {"patients": patients, "visits": visits, "labs": [], "regions": []}
    return {(name,): rows for name, rows in found.items()}


def patient(person: str, number: int | None, city: str = "Bern") -> Row:
    return {"id": number, "person": person, "city": city}


def prepared(name: str, catalog: Catalog, *names: str) -> Catalog:
    """The catalogue with copies of these tables, which are made."""
    for each in names or ("patients", "visits"):
        dataset, linked = catalog.dataset(each), catalog.linked_columns(each)
        making = Preparation(dataset, (WHERE[name],), DIALECTS[name], 1, linked=linked)
        making.drop(owner(name))
        list(making.steps(SALT, owner(name)))
        catalog = catalog.with_tables(making.prepared)
    return catalog


def counts(name: str, rows: Tables, catalog: Catalog, *, copied: bool = True) -> list[int]:
    """What the questions count before noise, in the tables or in copies of them."""
    engine = ENGINES[name](catalog, rows)
    catalog = prepared(name, catalog) if copied else catalog
    found = []
    for text in QUESTIONS:
        plan = bound(parse(text, catalog), catalog).plan
        [[count]] = opened(engine.run(plan, catalog, SALT))[1]
        found.append(count)
    return found


def moved(name: str, before: Tables, after: Tables, *, copied: bool = True) -> int:
    """How far the rows of one person move the answer that they move most."""
    found = [counts(name, rows, declared(), copied=copied) for rows in (before, after)]
    return max(abs(one - other) for one, other in zip(*found, strict=True))


OTHERS = [patient("bob", 1), patient("cid", 2), patient("dan", 3, "Ulm")]
CROWD = [patient("ann", 100 + at, ("Bern", "Ulm")[at % 2]) for at in range(50)]


@pytest.mark.parametrize("name", DIALECTS)
def test_one_person_with_many_rows_moves_a_count_by_one(name: str, bar: Bar) -> None:
    found = moved(name, tables(OTHERS), tables([*OTHERS, *CROWD]))
    bar(f"one row each, of 50: a count is moved by, {name}", found, "1", found == 1)


def test_whoever_reads_the_table_is_moved_by_all_of_them() -> None:
    """The lie: read in place, what is assumed is not so."""
    assert moved("duckdb", tables(OTHERS), tables([*OTHERS, *CROWD]), copied=False) == 50


def copied_rows(name: str, rows: Sequence[Row]) -> list[Any]:
    """The patients of the copy, each as a tuple."""
    catalog = declared()
    ENGINES[name](catalog, tables(rows))
    copy = prepared(name, catalog, "patients").dataset("patients").copy
    assert copy is not None
    [(schema, table)] = copy.tables
    found = owner(name)(f"SELECT person, id, city FROM {schema}.{table}")  # noqa: S608
    return sorted(map(tuple, found))


@pytest.mark.parametrize("name", DIALECTS)
def test_which_row_is_kept_follows_from_a_persons_own_rows(name: str) -> None:
    shuffled = [*CROWD, patient("ann", None)]
    random.Random(5).shuffle(shuffled)  # noqa: S311
    [alone] = copied_rows(name, [*CROWD, patient("ann", None)])
    assert [alone] == [
        row for row in copied_rows(name, [*OTHERS, *shuffled]) if row[0] == "ann"
    ]
    assert len(copied_rows(name, [*OTHERS, *shuffled])) == len(OTHERS) + 1


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("victims", [1, 2])
def test_whoever_stores_anothers_key_moves_a_count_by_one(
    name: str, victims: int, bar: Bar
) -> None:
    """Of the keys that a person stores in a table of one row each, one is believed."""
    stolen = [patient("eve", 1 + at) for at in range(victims)]
    before, after = tables(OTHERS), tables([*OTHERS, *stolen])
    found = moved(name, before, after)
    bar(f"{victims} keys of others: a count is moved by, {name}", found, "1", found == 1)


def test_accomplices_do_not_multiply_a_persons_visit(bar: Bar) -> None:
    accomplices = [patient(f"p{at}", 1) for at in range(20)]
    there = tables([*accomplices, *OTHERS])
    absent = tables([*accomplices, *OTHERS[1:]], visited=[0, 2, 3])
    found = moved("duckdb", absent, there)
    bar("20 accomplices: one person moves a count by", found, "at most 1", found <= 1)
    # the lie: in place, the visit of one person counts for each of the twenty as well
    assert moved("duckdb", absent, there, copied=False) == 21


def test_keys_without_a_value_are_nobodys() -> None:
    nobody = [patient("eve", None), patient("flo", None)]
    rows = copied_rows("duckdb", [*OTHERS, *nobody, {**patient("", 1), "person": None}])
    assert [row[0] for row in rows] == ["bob", "cid", "dan", "eve", "flo"]


@pytest.mark.parametrize("name", DIALECTS)
def test_keys_of_two_units_that_cannot_be_repaired_are_told_to_the_owner(name: str) -> None:
    """A person with several rows could take as many others with them."""
    catalog = declared(one_row=False)
    ENGINES[name](catalog, tables([*OTHERS, patient("eve", 1)]))
    with pytest.raises(InvalidValue, match="has one value in rows of two units"):
        prepared(name, catalog, "patients")
    own = [*OTHERS, patient("bob", 1, "Ulm")]  # one person's rows may share a key
    ENGINES[name](catalog, tables(own))
    prepared(name, catalog, "patients")


def assumed(text: str, catalog: Catalog) -> tuple[str, ...]:
    return price(parse(text, catalog), catalog, Loss.pure(1)).assumptions


def test_what_a_copy_keeps_is_no_assumption() -> None:
    catalog = declared()
    ENGINES["duckdb"](catalog, tables(OTHERS))
    for text, assumption in (
        (PATIENTS, "patients.person is unique"),
        (VISITS, "patients.id is unique"),
        (BOTH, "patients.id is unique"),
    ):
        assert assumption in assumed(text, catalog)
        assert not assumed(text, prepared("duckdb", catalog))
    several = declared(one_row=False)
    # the lie: that it was so when the copy was made does not say that nobody could break it
    assert assumed(VISITS, prepared("duckdb", several)) == ("patients.id is unique",)


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("key", [7, None])
def test_row_keys_that_tell_no_rows_apart_stop_no_copy(name: str, key: int | None) -> None:
    """One person's rows would stop it for everybody; they are ordered by their other values."""
    catalog, found = numbered_visits(Limits(3, 1, 3))
    [(table, rows)] = found.items()
    same = [{**row, "visit": key} for row in rows]
    copies = []
    for times in range(2):
        random.Random(times).shuffle(same)  # noqa: S311
        ENGINES[name](catalog, {table: same})
        copy = prepared_visits(name, catalog).datasets[0].copy
        assert copy is not None
        made = []
        for schema, part in copy.tables:
            text = f"SELECT person, tacit_place, ward, age, day, room FROM {schema}.{part}"  # noqa: S608
            made += [tuple(map(str, row)) for row in owner(name)(text)]
        copies.append(sorted(made))
    assert copies[0] == copies[1]
    assert len(copies[0]) == sum(row["person"] is not None for row in rows)
    assert len({row[:2] for row in copies[0]}) == len(copies[0])  # one row has one place
