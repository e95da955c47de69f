from dataclasses import FrozenInstanceError, replace

import pytest

from tacit.core.catalog import (
    Catalog,
    Dataset,
    Epoch,
    Limits,
    Link,
    Location,
    PublicTable,
    UnitColumn,
)
from tacit.core.domain import Column, Kind, Schema
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.errors import InvalidValue, UnknownName

PATIENTS = Population("patients", PrivacyUnit("person"))
STAFF = Population("staff", PrivacyUnit("person"))


def table(name: str, unit: UnitColumn | Link, population: str = "patients") -> Dataset:
    return Dataset(
        name=name,
        population=population,
        schema=Schema((Column("id", Kind.INTEGER), Column("parent", Kind.INTEGER))),
        unit=unit,
        limits=Limits(max_groups=1, max_rows=1),
        location=Location("warehouse", (name,)),
        epoch=Epoch("1"),
    )


def link(parent: str, parent_column: str = "id") -> Link:
    return Link("parent", parent, parent_column)


PEOPLE = table("people", UnitColumn("id"))
VISITS = table("visits", link("people"))
DOSES = table("doses", link("visits"))


def test_a_catalog_finds_what_it_declares() -> None:
    catalog = Catalog((PATIENTS, STAFF), (PEOPLE, VISITS))
    assert catalog.population("staff") == STAFF
    assert catalog.dataset("visits") == VISITS


def test_a_dataset_that_names_the_unit_is_its_own_path() -> None:
    assert Catalog((PATIENTS,), (PEOPLE,)).path_to_unit("people") == (PEOPLE,)


def test_two_links_lead_to_the_unit_in_order() -> None:
    catalog = Catalog((PATIENTS,), (DOSES, PEOPLE, VISITS))
    assert catalog.path_to_unit("doses") == (DOSES, VISITS, PEOPLE)
    assert catalog.path_to_unit("visits") == (VISITS, PEOPLE)


def test_links_in_a_circle_are_refused() -> None:
    first, second = table("first", link("second")), table("second", link("first"))
    with pytest.raises(InvalidValue, match="links of 'first' form a cycle through 'first'"):
        Catalog((PATIENTS,), (first, second))


def test_a_link_to_itself_is_a_circle() -> None:
    with pytest.raises(InvalidValue, match="'people' form a cycle through 'people'"):
        Catalog((PATIENTS,), (table("people", link("people")),))


def test_a_path_into_a_circle_is_refused() -> None:
    first, second = table("first", link("second")), table("second", link("second"))
    with pytest.raises(InvalidValue, match="'first' form a cycle through 'second'"):
        Catalog((PATIENTS,), (first, second))


def test_a_link_into_another_population_is_refused() -> None:
    shifts = table("shifts", link("people"), population="staff")
    with pytest.raises(
        InvalidValue,
        match=r"'shifts' of 'staff' links to 'people' of 'patients'; .* in one population",
    ):
        Catalog((PATIENTS, STAFF), (PEOPLE, shifts))


def test_unknown_names_list_the_known_ones() -> None:
    catalog = Catalog((PATIENTS, STAFF), (PEOPLE, VISITS))
    with pytest.raises(UnknownName, match="no population 'owls'; there are: patients, staff"):
        catalog.population("owls")
    with pytest.raises(UnknownName, match="no dataset 'nests'; there are: people, visits"):
        catalog.dataset("nests")
    with pytest.raises(UnknownName, match="no dataset 'nests'; there are: people, visits"):
        catalog.path_to_unit("nests")


def test_a_dataset_of_an_undeclared_population_is_refused() -> None:
    with pytest.raises(UnknownName, match="no population 'patients'; there are: staff"):
        Catalog((STAFF,), (PEOPLE,))


def test_a_link_needs_a_declared_parent_and_its_column() -> None:
    with pytest.raises(UnknownName, match="no dataset 'people'; there are: visits"):
        Catalog((PATIENTS,), (VISITS,))
    with pytest.raises(UnknownName, match="no column 'name'; the columns are: id, parent"):
        Catalog((PATIENTS,), (PEOPLE, table("visits", link("people", "name"))))


def test_the_ends_of_a_link_are_of_one_kind() -> None:
    """An engine casts the one to the other, and fails where a row holds no number."""
    texts = Schema((Column("id", Kind.TEXT), Column("parent", Kind.TEXT)))
    named = replace(VISITS, schema=texts)
    with pytest.raises(InvalidValue, match=r"visits\.parent links to people\.id, which is"):
        Catalog((PATIENTS,), (PEOPLE, named))


def test_units_are_named_in_one_way() -> None:
    other = replace(PEOPLE, name="staff", schema=Schema((Column("id", Kind.TEXT),)))
    with pytest.raises(InvalidValue, match="identified by text in one dataset and by whole"):
        Catalog((PATIENTS,), (PEOPLE, other))


def test_names_are_distinct_among_populations_and_among_datasets() -> None:
    with pytest.raises(InvalidValue, match="distinct; the given names are patients, patients"):
        Catalog((PATIENTS, PATIENTS), ())
    with pytest.raises(InvalidValue, match="distinct; the given names are people, people"):
        Catalog((PATIENTS,), (PEOPLE, PEOPLE))


def test_a_catalog_is_frozen() -> None:
    catalog = Catalog((PATIENTS,), (PEOPLE,))
    with pytest.raises(FrozenInstanceError):
        catalog.datasets = ()


REGIONS = PublicTable(
    "regions",
    Schema((Column("id", Kind.INTEGER),)),
    Location("warehouse", ("regions",)),
    Epoch("1"),
)


def test_a_public_table_is_found_and_is_no_dataset() -> None:
    catalog = Catalog((PATIENTS,), (PEOPLE,), (REGIONS,))
    assert catalog.table("regions") == REGIONS
    assert catalog.table("people") == PEOPLE
    assert catalog.tables == (PEOPLE, REGIONS)
    assert catalog.is_public("regions")
    assert not catalog.is_public("people")
    with pytest.raises(InvalidValue, match="is a public table, and not a dataset"):
        catalog.dataset("regions")
    with pytest.raises(UnknownName, match="no dataset 'towns'; there are: people"):
        catalog.table("towns")


def test_a_public_table_has_a_name_of_its_own() -> None:
    with pytest.raises(InvalidValue, match="Names must be distinct"):
        Catalog((PATIENTS,), (PEOPLE,), (replace(REGIONS, name="people"),))
    with pytest.raises(InvalidValue, match="needs a name"):
        replace(REGIONS, name=" ")


def test_nobody_is_found_by_way_of_a_public_table() -> None:
    with pytest.raises(InvalidValue, match="'regions' is a public table"):
        Catalog((PATIENTS,), (table("visits", link("regions")),), (REGIONS,))


@pytest.mark.parametrize("name", ["visits.2026", "below"])
def test_a_name_that_would_be_taken_for_another_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue, match="must not contain a dot, and must not be 'below'"):
        Catalog((PATIENTS,), (table(name, UnitColumn("id")),))
