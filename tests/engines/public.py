"""A public table beside the clinic, and questions that join it."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import clinic
import duckdb
from clinic import plans
from hypothesis import strategies as st
from per_unit import unit_plans

from tacit.core.catalog import MOST_FAN_OUT, Catalog, Epoch, Limits, Location, PublicTable
from tacit.core.domain import Bounds, Column, Keys, Kind, Schema
from tacit.core.privacy_unit import Neighbours
from tacit.engines.reference import Row
from tacit.plan.expression import Arithmetic, Expression, Field, IsNull, Not, Operation
from tacit.plan.plan import (
    Aggregate,
    CountValues,
    Filter,
    GroupKey,
    JoinPublic,
    Least,
    Mean,
    NamedAggregate,
    Plan,
    Post,
    Relation,
    Sum,
    per_unit_in,
)

PLACE = ("places",)
TYPES = {
    "named": "VARCHAR",
    "number": "HUGEINT",
    "since": "DATE",
    "open": "BOOLEAN",
    "side": "VARCHAR",
    "rate": "DECIMAL(18, 1)",
}
SIDES = ("left", "right")
PLACES: st.SearchStrategy[list[Row]] = st.lists(
    st.fixed_dictionaries(
        {
            "named": clinic.CELLS["ward"],
            "number": st.one_of(clinic.CELLS["room"], st.sampled_from([2**100, 1, 2])),
            "since": clinic.CELLS["day"],
            "open": clinic.CELLS["smoker"],
            "side": st.one_of(st.none(), st.sampled_from([*SIDES, "under"])),
            "rate": st.one_of(st.none(), st.decimals("-99", "99", places=1)),
        }
    ),
    max_size=6,
)
EQUAL = (("ward", "named"), ("room", "number"), ("day", "since"), ("smoker", "open"))
"""Columns of visits, and those of places that they can be equal to."""


def catalog(limits: Limits, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Catalog:
    columns = (
        Column("named", Kind.TEXT),
        Column("number", Kind.INTEGER),
        Column("since", Kind.DATE),
        Column("open", Kind.BOOLEAN),
        Column("side", Kind.TEXT, keys=Keys(SIDES)),
        Column("rate", Kind.DECIMAL, bounds=Bounds.of(-1, 9), step=Fraction(1, 10)),
    )
    places = PublicTable(
        "places",
        Schema(columns),
        Location("here", PLACE),
        Epoch("1"),
        lookup=tuple(right for _, right in EQUAL),
        fan_out=MOST_FAN_OUT,
    )
    return replace(clinic.catalog(limits, neighbours), public=(places,))


def database(rows: Sequence[Row], places: Sequence[Row]) -> duckdb.DuckDBPyConnection:
    connection = clinic.database(rows)
    columns = ", ".join(f'"{name}" {kind}' for name, kind in TYPES.items())
    connection.execute(f"CREATE TABLE places ({columns})")
    for row in places:
        connection.execute(
            "INSERT INTO places VALUES (?, ?, ?, ?, ?, ?)", [row[name] for name in TYPES]
        )
    return connection


@st.composite
def public_plans(draw: st.DrawFn) -> Plan:
    """Questions about visits, or about what they add up to, beside places."""
    plan = draw(st.one_of(plans(), unit_plans()))
    below = per_unit_in(plan.source)
    equal = [(f"visits.{left}", right) for left, right in EQUAL]
    if below is not None:
        counts = [(f"below.{value.name}", "number") for value in below.values]
        equal = [pair for pair in equal if pair[0] in below.keys] + counts
    left, right = draw(st.sampled_from(equal))
    source: Relation = JoinPublic(plan.source, "places", left, right, draw(st.booleans()))
    rate = Field("places.rate")
    beside = Field("visits.age") if below is None else Field(f"below.{below.values[0].name}")
    condition: Expression = draw(st.sampled_from([IsNull(rate), Not(Field("places.open"))]))
    if draw(st.booleans()):
        source = Filter(source, condition)
    keys = plan.keys
    if draw(st.booleans()):
        keys = (GroupKey("side", Field("places.side")),)
    numbers = [rate, Arithmetic(Operation.MULTIPLY, rate, beside)]
    made: st.SearchStrategy[Aggregate] = st.one_of(
        st.builds(each, st.sampled_from(numbers)) for each in (CountValues, Sum, Mean, Least)
    )
    measures = (*plan.measures, NamedAggregate("public", draw(made)))
    return Plan(source, keys, measures, Post.showing(*(part.name for part in measures)))
