"""A small public catalogue for unit tests: two linked tables, a third below, a public one.

`patients` names the unit; `visits` leads to it by a link, and `labs` by two. `notes` names the
unit in a column of its own, and `regions` is about nobody. `staff` is another population.
"""

from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any

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
from tacit.core.domain import Bounds, Column, Keys, Kind, Schema
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.plan.expression import Constant, Expression, Field
from tacit.plan.plan import CountRows, GroupKey, NamedAggregate, Plan, Post, Relation, Scan
from tacit.plan.type_check import ColumnScope, scope_of

WARDS = Keys(("east", "north", "south"))
YEAR = Bounds.days(date(2026, 1, 1), date(2026, 12, 31))
CENT = Fraction(1, 100)

PATIENTS = Schema(
    (
        Column("id", Kind.INTEGER),
        Column("person", Kind.TEXT),
        Column("age", Kind.INTEGER, bounds=Bounds.of(0, 120)),
        Column("city", Kind.TEXT),
        Column("insured", Kind.BOOLEAN),
    )
)
VISITS = Schema(
    (
        Column("id", Kind.INTEGER),
        Column("patient", Kind.INTEGER),
        Column("ward", Kind.TEXT, keys=WARDS),
        Column("cost", Kind.DECIMAL, bounds=Bounds.of(-10, 1000), step=CENT),
        Column("stay", Kind.INTEGER, bounds=Bounds.of(1, 30)),
        Column("heat", Kind.FLOAT, bounds=Bounds.of(30, 45)),
        Column("free", Kind.FLOAT),
        Column("day", Kind.DATE, bounds=YEAR),
        Column("seen", Kind.DATE),
        Column("at", Kind.TIMESTAMP),
        Column("urgent", Kind.BOOLEAN),
        Column("note", Kind.TEXT),
    )
)
LABS = Schema(
    (
        Column("visit", Kind.INTEGER),
        Column("value", Kind.INTEGER, bounds=Bounds.of(-5, 5)),
    )
)
NOTES = Schema((Column("person", Kind.TEXT), Column("words", Kind.INTEGER)))
REGIONS = Schema(
    (
        Column("ward", Kind.TEXT),
        Column("region", Kind.TEXT, keys=Keys(("left", "right"))),
        Column("beds", Kind.INTEGER, bounds=Bounds.of(0, 50)),
    )
)
TO_PATIENT = Link("patient", "patients", "id")
TO_VISIT = Link("visit", "visits", "id")


def dataset(name: str, schema: Schema, unit: UnitColumn | Link, **changed: Any) -> Dataset:
    """A dataset of the patients, whose units have 3 groups of at most 5 rows."""
    told = {"population": "patients", "limits": Limits(3, 5), "epoch": Epoch("1")} | changed
    return Dataset(
        name=name, schema=schema, unit=unit, location=Location("here", (name,)), **told
    )


def ward(*, public: bool = True, **limits: Limits) -> Catalog:
    """The catalogue, with other ``limits`` for the tables that are named."""
    made = (
        dataset("patients", PATIENTS, UnitColumn("person"), limits=Limits(1, 1)),
        dataset("visits", VISITS, TO_PATIENT),
        dataset("labs", LABS, TO_VISIT, limits=Limits(4, 7)),
        dataset("notes", NOTES, UnitColumn("person"), limits=Limits(2, 9)),
        dataset("staff", NOTES, UnitColumn("person"), population="staff"),
    )
    changed = tuple(
        replace(each, limits=limits[each.name]) if each.name in limits else each
        for each in made
    )
    regions = PublicTable("regions", REGIONS, Location("here", ("regions",)), Epoch("1"))
    regions = replace(regions, lookup=("ward",))
    units = (Population(name, PrivacyUnit("person")) for name in ("patients", "staff"))
    return Catalog(tuple(units), changed, (regions,) if public else ())


CATALOG = ward()
ROWS = scope_of(("visits",), CATALOG)
"""The columns of the visits, as questions name them."""


def scope(*names: str) -> ColumnScope:
    """The columns of these tables."""
    return scope_of(names, CATALOG)


def asked(*measures: Any, of: Relation | None = None, by: tuple[Expression, ...] = ()) -> Plan:
    """The plan that asks for aggregates of the visits, by groups; COUNT(*) where none is."""
    keys = tuple(GroupKey(f"k{at}", each) for at, each in enumerate(by))
    parts = measures or (CountRows(),)
    made = tuple(NamedAggregate(f"m{at}", each) for at, each in enumerate(parts))
    names = [each.name for each in (*keys, *made)]
    return Plan(of or Scan("visits"), keys, made, Post.showing(*names))


def field(name: str) -> Field:
    """A column of the visits."""
    return Field(f"visits.{name}")


def c(value: Any) -> Constant:
    """A constant of a question."""
    return Constant(value)
