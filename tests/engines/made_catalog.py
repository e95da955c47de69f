"""Catalogues that choices make: one to three tables, and the ways from their rows to a person.

Every table has an ``id``, a column that leads to the person, and columns of any kind; names are
shared between tables, and some have to be quoted.
"""

from fractions import Fraction

from made_column import column

from tacit.audit.synthetic_people import Choices
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
from tacit.core.domain import Column, Kind, Schema
from tacit.core.privacy_unit import Neighbours, Population, PrivacyUnit

TABLES = ("people", "order", "it's")
NAMES = ("age", "group", 'a "b"', "Maß", "x")
UNIT, ID, UP = "person", "id", "up"
PLACES = "places"
EQUATED = (Kind.TEXT, Kind.INTEGER, Kind.DATE, Kind.BOOLEAN)


def catalog(choices: Choices) -> Catalog:
    """A catalogue of one population."""
    unit, number = (choices.one((Kind.TEXT, Kind.INTEGER)) for _ in range(2))
    datasets: list[Dataset] = []
    for name in TABLES[: 1 + choices.below(len(TABLES))]:
        way = _way(datasets, choices)
        to_unit = not isinstance(way, Link) or way.parent_column == UNIT
        columns = (
            Column(ID, number),
            Column(way.column, unit if to_unit else number),
            *(column(NAMES[place], choices) for place in range(1 + choices.below(len(NAMES)))),
        )
        in_all = 1 + choices.below(6) if choices.once_in(2) else None
        length = Fraction(3 + choices.below(6), 2) if choices.once_in(3) else None
        limits = Limits(1 + choices.below(3), 1 + choices.below(4), in_all, length)
        where, row_key = Location("here", (name,)), ID if choices.once_in(2) else None
        datasets.append(
            Dataset(name, "all", Schema(columns), way, limits, where, Epoch("1"), row_key)
        )
    neighbours = choices.one(tuple(Neighbours))
    public = (_places(choices),) if choices.once_in(4) else ()
    people = Population("all", PrivacyUnit("person", neighbours))
    return Catalog((people,), tuple(datasets), public)


def _places(choices: Choices) -> PublicTable:
    """A public table, with a column of each kind that a join can equate."""
    columns = [Column(f"of {kind.value}", kind) for kind in EQUATED]
    columns.append(column(NAMES[0], choices))
    names = tuple(column.name for column in columns)
    place = Location("here", (PLACES,))
    schema = Schema(tuple(columns))
    return PublicTable(PLACES, schema, place, Epoch("1"), names, MOST_FAN_OUT)


def _way(above: list[Dataset], choices: Choices) -> UnitColumn | Link:
    """To the person by a column, by a link, or by a link that holds the person itself."""
    if not above or choices.once_in(4):
        return UnitColumn(UNIT)
    parent = choices.one(above)
    if isinstance(parent.unit, UnitColumn) and choices.once_in(4):
        return Link(UP, parent.name, UNIT)
    return Link(UP, parent.name, ID, unique_by_constraint=choices.once_in(2))
