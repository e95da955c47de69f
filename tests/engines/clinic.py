"""A made-up table with everything that engines disagree about, and questions about it."""

from collections.abc import Sequence
from datetime import date
from fractions import Fraction

import duckdb
from hypothesis import strategies as st

from tacit.core.bounds import Bounds
from tacit.core.catalog import Catalog
from tacit.core.column import Column, Kind
from tacit.core.dataset import Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.keys import Keys
from tacit.core.population import Population
from tacit.core.schema import Schema
from tacit.core.unit import Neighbours, PrivacyUnit
from tacit.engines.meaning import Cell, Row
from tacit.plan.aggregate import (
    Aggregate,
    CountRows,
    CountUnits,
    CountValues,
    Deviation,
    Greatest,
    Least,
    Mean,
    Quantile,
    Sum,
    Variance,
)
from tacit.plan.expression import (
    And,
    Arithmetic,
    Bin,
    Case,
    Compare,
    Comparison,
    Constant,
    Expression,
    Field,
    IsNull,
    Not,
    OneOf,
    Operation,
    Or,
)
from tacit.plan.plan import GroupKey, Measure, Plan
from tacit.plan.post import Post
from tacit.plan.relation import Filter, Scan

TABLE = ("visits",)
TYPES = {
    "person": "VARCHAR",
    "ward": "VARCHAR",
    "age": "BIGINT",
    "pay": "DOUBLE",
    "cost": "DECIMAL(18, 2)",
    "smoker": "BOOLEAN",
    "day": "DATE",
    "doctor": "VARCHAR",
    "room": "BIGINT",
}
WARDS = ("north", "south", "it's", "")

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
    "day": st.one_of(st.none(), st.dates(date(1900, 1, 1), date(2100, 1, 1))),
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


NUMBERS: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(
        st.sampled_from([Field("age"), Field("cost"), Field("pay")]),
        st.sampled_from([Constant(2), Constant(-1), Constant(Fraction("0.5")), Constant(None)]),
    ),
    lambda parts: st.builds(Arithmetic, st.sampled_from(Operation), parts, parts),
    max_leaves=2,
)


def _conditions() -> st.SearchStrategy[Expression]:
    compare = st.sampled_from(Comparison)
    equal = st.sampled_from([Comparison.EQUAL, Comparison.UNEQUAL])
    leaves: st.SearchStrategy[Expression] = st.one_of(
        st.builds(
            Compare, compare, st.just(Field("age")), st.builds(Constant, st.integers(-3, 125))
        ),
        st.builds(
            Compare,
            st.sampled_from([Comparison.LESS, Comparison.MORE, Comparison.AT_LEAST]),
            st.just(Field("age")),
            st.just(Constant(Fraction("17.5"))),
        ),
        st.builds(
            Compare,
            compare,
            st.just(Field("pay")),
            st.builds(Constant, st.fractions(-1, 101, max_denominator=10)),
        ),
        st.builds(
            Compare,
            compare,
            st.just(Field("cost")),
            st.builds(
                Constant, st.sampled_from([Fraction("9.99"), Fraction(0), Fraction(-10)])
            ),
        ),
        st.builds(
            Compare, compare, st.just(Field("day")), st.just(Constant(date(2000, 2, 29)))
        ),
        st.builds(
            Compare, equal, st.just(Field("ward")), st.builds(Constant, st.sampled_from(WARDS))
        ),
        st.builds(Compare, compare, NUMBERS, NUMBERS),
        st.just(OneOf(Field("ward"), ("north", "it's"))),
        st.just(OneOf(Field("age"), (1, 2, 40))),
        st.just(Field("smoker")),
        st.builds(IsNull, st.sampled_from([Field("pay"), Field("ward"), Field("age")])),
        st.sampled_from([Constant(True), Constant(False), Constant(None)]),
    )
    return st.recursive(
        leaves,
        lambda parts: st.one_of(
            st.builds(Not, parts),
            st.builds(And, st.tuples(parts, parts)),
            st.builds(Or, st.tuples(parts, parts)),
        ),
        max_leaves=4,
    )


CONDITIONS = _conditions()
KEYS: st.SearchStrategy[Expression] = st.one_of(
    st.just(Field("ward")),
    st.just(Field("smoker")),
    st.sampled_from([Bin(Field("age"), 40), Bin(Field("pay"), 25), Bin(Field("cost"), 50)]),
    st.builds(
        lambda condition: Case(((condition, Constant("yes")),), Constant("no")), CONDITIONS
    ),
    st.builds(lambda condition: Case(((condition, Constant(1)),), Constant(None)), CONDITIONS),
)
SECRET_KEYS: st.SearchStrategy[Expression] = st.sampled_from(
    [Field("doctor"), Field("room"), Field("day")]
)
"""Columns whose values nobody declared."""
AGGREGATES: st.SearchStrategy[Aggregate] = st.one_of(
    st.just(CountRows()),
    st.just(CountUnits()),
    st.builds(CountValues, st.sampled_from([Field("pay"), Field("ward")])),
    st.builds(Sum, NUMBERS),
    st.builds(Mean, NUMBERS),
    st.builds(Variance, NUMBERS, st.booleans()),
    st.builds(Deviation, NUMBERS, st.booleans()),
    st.builds(Quantile, NUMBERS, st.sampled_from([Fraction(1, 2), Fraction(9, 10)])),
    st.builds(Least, NUMBERS),
    st.builds(Greatest, NUMBERS),
    st.builds(
        lambda condition, number: Sum(Case(((condition, number),), Constant(None))),
        CONDITIONS,
        NUMBERS,
    ),
)
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
    measures = tuple(Measure(f"m{place}", part) for place, part in enumerate(aggregates))
    return Plan(filtered, named, measures, Post.showing(*(part.name for part in measures)))
