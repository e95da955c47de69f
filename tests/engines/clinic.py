"""A made-up table with everything that engines disagree about, and questions about it."""

from collections.abc import Sequence
from datetime import date
from fractions import Fraction

import duckdb
from clinic_questions import AGGREGATES, CONDITIONS, KEYS, WARDS
from hypothesis import strategies as st

from tacit.core.catalog import Catalog, Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.domain import Bounds, Column, Keys, Kind, Schema
from tacit.core.privacy_unit import Neighbours, Population, PrivacyUnit
from tacit.engines.reference import Cell, Row
from tacit.plan.expression import Expression
from tacit.plan.plan import Filter, GroupKey, NamedAggregate, Plan, Post, Scan

TABLE = ("visits",)
TYPES = {
    "person": "VARCHAR",
    "ward": "VARCHAR",
    "age": "BIGINT",
    "pay": "DOUBLE",
    "cost": "DECIMAL(18, 2)",
    "smoker": "BOOLEAN",
    "day": "DATE",
    "until": "DATE",
    "doctor": "VARCHAR",
    "room": "BIGINT",
}

UNTIL = Bounds.days(date(2019, 12, 30), date(2021, 3, 1))

CELLS: dict[str, st.SearchStrategy[Cell]] = {
    "person": st.one_of(st.none(), st.sampled_from(["a", "b", "c", " a", "A", ""])),
    "ward": st.one_of(st.none(), st.sampled_from([*WARDS, "elsewhere", "NULL", "north|"])),
    "age": st.one_of(
        st.none(), st.integers(-5, 130), st.sampled_from([-(2**63), 2**63 - 1, 0, 2**53 + 1])
    ),
    "pay": st.one_of(
        st.none(),
        st.floats(allow_nan=True, allow_infinity=True),
        st.sampled_from([0.0, -0.0, 1e308, -1e308, 5e-324, 99.999999999, 0.1]),
    ),
    "cost": st.one_of(
        st.none(), st.decimals("-9999999999999999.99", "9999999999999999.99", places=2)
    ),
    "smoker": st.one_of(st.none(), st.booleans()),
    "day": st.one_of(st.none(), st.dates(date(1900, 1, 1), date(2100, 1, 1)), st.dates()),
    "until": st.one_of(st.none(), st.dates(date(2019, 6, 1), date(2021, 9, 1)), st.dates()),
    "doctor": st.one_of(st.none(), st.sampled_from(["who", "no", "", "it's", "no|", "Ärztin"])),
    "room": st.one_of(st.none(), st.sampled_from([-(2**63), 2**63 - 1, 0, -1, 7])),
}
ROWS: st.SearchStrategy[Row] = st.fixed_dictionaries(CELLS)
TABLES = st.lists(ROWS, max_size=25)


def catalog(limits: Limits, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Catalog:
    schema = Schema(
        (
            Column("person", Kind.TEXT),
            Column("ward", Kind.TEXT, keys=Keys(WARDS)),
            Column("age", Kind.INTEGER, bounds=Bounds.of(0, 120)),
            Column("pay", Kind.FLOAT, bounds=Bounds.of("-0.1", 100)),
            Column(
                "cost", Kind.DECIMAL, bounds=Bounds.of("-10.5", "99.99"), step=Fraction(1, 100)
            ),
            Column("smoker", Kind.BOOLEAN),
            Column("day", Kind.DATE),
            Column("until", Kind.DATE, bounds=UNTIL),
            Column("doctor", Kind.TEXT),
            Column("room", Kind.INTEGER),
        )
    )
    visits = Dataset(
        "visits",
        "patients",
        schema,
        UnitColumn("person"),
        limits,
        Location("here", TABLE),
        Epoch("1"),
    )
    return Catalog((Population("patients", PrivacyUnit("person", neighbours)),), (visits,))


def database(rows: Sequence[Row]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    columns = ", ".join(f'"{name}" {kind}' for name, kind in TYPES.items())
    connection.execute(f"CREATE TABLE visits ({columns})")
    marks = ", ".join("?" for _ in TYPES)
    for row in rows:
        connection.execute(
            f"INSERT INTO visits VALUES ({marks})",  # noqa: S608 - our own names
            [row.get(name) for name in TYPES],
        )
    return connection


LIMITS = st.builds(Limits, st.integers(1, 3), st.integers(1, 3))


@st.composite
def plans(draw: st.DrawFn, secret: st.SearchStrategy[Expression] | None = None) -> Plan:
    """Questions; one of the keys is drawn from ``secret`` where that is given."""
    source = Scan("visits")
    filtered = draw(st.one_of(st.just(source), st.builds(Filter, st.just(source), CONDITIONS)))
    keys = draw(st.lists(KEYS, max_size=2 if secret is None else 1, unique=True))
    if secret is not None:
        keys.insert(draw(st.integers(0, len(keys))), draw(secret))
    aggregates = draw(st.lists(AGGREGATES, min_size=1, max_size=3))
    named = tuple(GroupKey(f"k{place}", key) for place, key in enumerate(keys))
    measures = tuple(NamedAggregate(f"m{place}", part) for place, part in enumerate(aggregates))
    return Plan(filtered, named, measures, Post.showing(*(part.name for part in measures)))
