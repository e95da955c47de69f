"""Three linked tables: patients name the person, visits lead to patients, labs to visits.

Next to them is a public table, which says where a ward is, once, twice or never.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
from hypothesis import strategies as st

from tacit.core.catalog import (
    MOST_FAN_OUT,
    Catalog,
    Dataset,
    Epoch,
    Limits,
    Link,
    Location,
    PublicTable,
    UnitColumn,
)
from tacit.core.domain import Bounds, Column, Keys, Kind, Schema
from tacit.core.privacy_unit import Neighbours, Population, PrivacyUnit
from tacit.engines.reference import Cell, Row

CITIES = ("Bern", "Ulm")
WARDS = ("north", "south")
PEOPLE = ("ann", "bob", "cid")

TYPES = {
    "patients": {"id": "BIGINT", "person": "VARCHAR", "city": "VARCHAR"},
    "visits": {"id": "BIGINT", "patient": "BIGINT", "ward": "VARCHAR", "age": "BIGINT"},
    "labs": {"visit": "BIGINT", "value": "BIGINT"},
    "regions": {"ward": "VARCHAR", "region": "VARCHAR", "beds": "BIGINT"},
}
REGIONS: tuple[Row, ...] = (
    {"ward": "north", "region": "hills", "beds": 30},
    {"ward": "north", "region": "coast", "beds": -7},
    {"ward": "north", "region": "coast", "beds": -7},
    {"ward": "elsewhere", "region": None, "beds": None},
    {"ward": None, "region": "hills", "beds": 2**63 - 1},
)

Tables = Mapping[tuple[str, ...], Sequence[Row]]


def catalog(limits: Limits, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Catalog:
    def dataset(name: str, way: UnitColumn | Link, *columns: Column) -> Dataset:
        place = Location("here", (name,))
        return Dataset(name, "people", Schema(columns), way, limits, place, Epoch("1"))

    return Catalog(
        (Population("people", PrivacyUnit("person", neighbours)),),
        (
            dataset(
                "patients",
                UnitColumn("person"),
                Column("id", Kind.INTEGER),
                Column("person", Kind.TEXT),
                Column("city", Kind.TEXT, keys=Keys(CITIES)),
            ),
            dataset(
                "visits",
                Link("patient", "patients", "id", unique_by_constraint=True),
                Column("id", Kind.INTEGER),
                Column("patient", Kind.INTEGER),
                Column("ward", Kind.TEXT, keys=Keys(WARDS)),
                Column("age", Kind.INTEGER, bounds=Bounds.of(0, 99)),
            ),
            dataset(
                "labs",
                Link("visit", "visits", "id"),
                Column("visit", Kind.INTEGER),
                Column("value", Kind.INTEGER, bounds=Bounds.of(-5, 5)),
            ),
        ),
        (
            PublicTable(
                "regions",
                Schema(
                    (
                        Column("ward", Kind.TEXT),
                        Column("region", Kind.TEXT, keys=Keys(("hills", "coast"))),
                        Column("beds", Kind.INTEGER, bounds=Bounds.of(0, 50)),
                    )
                ),
                Location("here", ("regions",)),
                Epoch("1"),
                lookup=("ward", "region", "beds"),
                fan_out=MOST_FAN_OUT,
            ),
        ),
    )


@dataclass(frozen=True, slots=True)
class Visit:
    """One visit of a person, with the values of its labs."""

    ward: str | None
    age: int | None
    labs: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Patient:
    """All that the hospital holds about one person: one row, their visits and labs."""

    person: str
    city: str | None
    visits: tuple[Visit, ...]


visits = st.builds(
    Visit,
    st.one_of(st.none(), st.sampled_from([*WARDS, "elsewhere"])),
    st.one_of(st.none(), st.integers(-10, 120)),
    st.lists(st.one_of(st.none(), st.integers(-9, 9)), max_size=4).map(tuple),
)


def patient(person: str) -> st.SearchStrategy[Patient]:
    cities = st.one_of(st.none(), st.sampled_from(CITIES))
    return st.builds(Patient, st.just(person), cities, st.lists(visits, max_size=4).map(tuple))


hospitals = st.tuples(*(st.one_of(st.none(), patient(person)) for person in PEOPLE[1:]))


def tables(patients: Sequence[Patient | None]) -> Tables:
    """The tables; a person's numbers are their own, whoever else is there."""
    rows: dict[str, list[dict[str, Cell]]] = {"patients": [], "visits": [], "labs": []}
    for each in patients:
        if each is None:
            continue
        number = PEOPLE.index(each.person)
        rows["patients"].append({"id": number, "person": each.person, "city": each.city})
        for place, visit in enumerate(each.visits):
            code = 100 * number + place
            rows["visits"].append(
                {"id": code, "patient": number, "ward": visit.ward, "age": visit.age}
            )
            rows["labs"] += [{"visit": code, "value": value} for value in visit.labs]
    return {("regions",): REGIONS} | {(name,): found for name, found in rows.items()}


def database(found: Tables) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name, types in TYPES.items():
        columns = ", ".join(f'"{column}" {kind}' for column, kind in types.items())
        connection.execute(f"CREATE TABLE {name} ({columns})")
        marks = ", ".join("?" for _ in types)
        for row in found.get((name,), ()):
            connection.execute(
                f"INSERT INTO {name} VALUES ({marks})",  # noqa: S608 - our own names
                [row[column] for column in types],
            )
    return connection
