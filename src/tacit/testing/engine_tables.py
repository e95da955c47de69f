"""Three tables that hold all that engines disagree about, for the contract of an engine.

A clinic: visits name the person, labs lead to visits, and a public table says where a ward is.
"""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import cycle, islice
from math import inf, nan

from tacit.core.bounds import Bounds
from tacit.core.catalog import Catalog
from tacit.core.column import Column, Kind
from tacit.core.dataset import Dataset, Epoch, Limits, Link, Location, UnitColumn
from tacit.core.keys import Keys
from tacit.core.population import Population
from tacit.core.public_table import MOST_FAN_OUT, PublicTable
from tacit.core.schema import Schema
from tacit.core.unit import PrivacyUnit
from tacit.engines.joined import Tables
from tacit.engines.meaning import Cell, Row

PEOPLE: tuple[Cell, ...] = ("a", "b", " a", "A", "", "it's", "NULL", "Ä", "a|b", "\\", None)
"""Names that are easily taken for one another, or for none; the last is nobody's."""

MOST_ROWS = 7
"""Rows that a person has at most; the first has as many."""

WARDS = ("north", "south", "it's", "a\\b", "")
VISITS = (
    Column("id", Kind.INTEGER),
    Column("person", Kind.TEXT),
    Column("ward", Kind.TEXT, keys=Keys(WARDS)),
    Column("age", Kind.INTEGER, bounds=Bounds.of(0, 120)),
    Column("pay", Kind.FLOAT, bounds=Bounds.of("-0.1", 100)),
    Column("cost", Kind.DECIMAL, bounds=Bounds.of("-10.5", "99.99"), step=Fraction(1, 100)),
    Column("smoker", Kind.BOOLEAN),
    Column("day", Kind.DATE),
    Column("until", Kind.DATE, bounds=Bounds.days(date(2019, 12, 30), date(2021, 3, 1))),
    Column("seen", Kind.TIMESTAMP),
    Column("doctor", Kind.TEXT),
    Column("room", Kind.INTEGER),
)
LABS = (
    Column("visit", Kind.INTEGER),
    Column("value", Kind.INTEGER, bounds=Bounds.of(-5, 5)),
)
PLACES = (
    Column("ward", Kind.TEXT),
    Column("region", Kind.TEXT, keys=Keys(("hills", "coast"))),
    Column("beds", Kind.INTEGER, bounds=Bounds.of(0, 50)),
)
WHERE: tuple[Row, ...] = (
    {"ward": "north", "region": "hills", "beds": 30},
    {"ward": "north", "region": "coast", "beds": -7},
    {"ward": "north", "region": "coast", "beds": -7},
    {"ward": "elsewhere", "region": None, "beds": None},
    {"ward": None, "region": "hills", "beds": 2**63 - 1},
)
"""A ward is in one place, in two or in none."""

CELLS: dict[str, Sequence[Cell]] = {
    "ward": ("north", *WARDS, "elsewhere", None, "NULL", "north|"),
    "age": (40, None, 120, 121, -1, 0, 2**63 - 1, -(2**63), 17, 18, 2**53 + 1),
    "pay": (
        *(0.1, nan, None, inf, -inf, -0.0, 1e308, -1.7976931348623157e308, 5e-324, 50.5),
        *(99.99999999999999, 100.00000000000001, 2.0**-33, 1 / 3, 0.5, 2.0**63),
    ),
    "cost": tuple(
        None if text is None else Decimal(text)
        for text in ("9.99", None, "-10.5", "9999999999999999.99", "0", "-0.01", "99.99", "5")
    ),
    "smoker": (True, None, False),
    "day": (date(2000, 2, 29), date.min, date.max, None, date(1969, 12, 31), date(2024, 6, 1)),
    "until": (
        date(2020, 2, 29),
        date.max,
        None,
        date.min,
        date(2019, 12, 30),
        date(2021, 3, 1),
    ),
    "seen": tuple(
        None if moment is None else datetime.fromisoformat(moment)
        for moment in ("2020-02-29", "2020-02-28T23:59:59.999999", None, "0001-01-02")
    ),
    "doctor": ("who", "no", None, "", "it's", "no|", "Ärztin", "a\nb", "\\", "😀", "NULL"),
    "room": (7, -1, None, 2**63 - 1, -(2**63), 0),
    "value": (5, None, -5, 6, -9, 0, 2**63 - 1),
}
"""What the cells of a column hold in turn; columns are of many lengths, so that all meet."""


def catalog(limits: Limits, without: frozenset[Kind] = frozenset()) -> Catalog:
    """The tables as an owner declares them, ``without`` the columns of some kinds."""

    def schema(columns: Sequence[Column]) -> Schema:
        return Schema(tuple(column for column in columns if column.kind not in without))

    def dataset(name: str, columns: Sequence[Column], way: UnitColumn | Link) -> Dataset:
        place = Location("here", (name,))
        return Dataset(name, "patients", schema(columns), way, limits, place, Epoch("1"))

    return Catalog(
        (Population("patients", PrivacyUnit("person")),),
        (
            dataset("visits", VISITS, UnitColumn("person")),
            dataset("labs", LABS, Link("visit", "visits", "id")),
        ),
        (_places(schema(PLACES)),),
    )


def _places(schema: Schema) -> PublicTable:
    place = Location("here", ("places",))
    return PublicTable("places", schema, place, Epoch("1"), schema.names, MOST_FAN_OUT)


def tables(people: Sequence[Cell] = PEOPLE) -> Tables:
    """All rows of those ``people``; what a person's rows hold depends on nobody else."""
    visits: list[Row] = []
    labs: list[Row] = []
    for place, person in enumerate(PEOPLE):
        if person not in people:
            continue
        for number in range(MOST_ROWS - place % 4):
            key = 100 * place + number
            cells = {name: _cell(name, place, number) for name in CELLS if name != "value"}
            visits.append({"id": key, "person": person} | cells)
            labs += [
                {"visit": key, "value": _cell("value", place, number + more)}
                for more in range(number % 3)
            ]
    return {("visits",): visits, ("labs",): labs, ("places",): WHERE}


def _cell(column: str, place: int, number: int) -> Cell:
    """The first person's rows are alike but for a few cells, the others go through all."""
    cells = CELLS[column]
    start = MOST_ROWS * place
    step = number if place else number // 2
    return next(islice(cycle(cells), start + step, None))
