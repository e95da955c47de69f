"""Datasets and public tables of the project file."""

from tacit.core.dataset import Dataset, Epoch, Limits, Link, Location, UnitColumn
from tacit.core.public_table import PublicTable
from tacit.errors import TacitError
from tacit.project.columns import schema_of
from tacit.project.entry import Entry

PRIVATE = (
    "population",
    "unit",
    "one_row",
    "unique_by_constraint",
    "link",
    "max_groups",
    "max_rows",
    "max_rows_in_all",
    "row_key",
    "in_place",
)
PLACED = ("engine", "table", "epoch", "columns", "copy")


def dataset_of(entry: Entry) -> Dataset:
    """A private table."""
    parts = entry.fields(*PRIVATE, *PLACED)
    row_key = parts["row_key"].text() if "row_key" in parts else None
    in_place = parts["in_place"].truth() if "in_place" in parts else False
    try:
        return Dataset(
            entry.name,
            entry.part("population").text(),
            schema_of(entry.part("columns")),
            _way(entry, parts),
            _limits(entry, parts),
            _location(entry, parts),
            Epoch(entry.part("epoch").text()),
            row_key,
            in_place=in_place,
        )
    except TacitError as error:
        raise entry.fault(str(error)) from error


def public_of(entry: Entry) -> PublicTable:
    """A table that is about nobody."""
    parts = entry.fields(*PLACED, "lookup", "fan_out")
    lookup = [part.text() for part in parts["lookup"].items()] if "lookup" in parts else []
    fan_out = parts["fan_out"].whole() if "fan_out" in parts else 1
    try:
        return PublicTable(
            entry.name,
            schema_of(entry.part("columns")),
            _location(entry, parts),
            Epoch(entry.part("epoch").text()),
            tuple(lookup),
            fan_out,
        )
    except TacitError as error:
        raise entry.fault(str(error)) from error


def _way(entry: Entry, parts: dict[str, Entry]) -> UnitColumn | Link:
    if ("unit" in parts) == ("link" in parts):
        raise entry.fault(
            'Say how a row leads to its person, in one way: unit = "person", the column that '
            'names them, or link = { column = "patient", parent = "patients", '
            'parent_column = "id" }.'
        )
    if "unit" in parts:
        said = [
            parts[name].truth() if name in parts else False
            for name in ("one_row", "unique_by_constraint")
        ]
        return UnitColumn(parts["unit"].text(), *said)
    link = parts["link"]
    ends = link.fields("column", "parent", "parent_column", "unique_by_constraint")
    unique = ends["unique_by_constraint"].truth() if "unique_by_constraint" in ends else False
    column, parent, above = (
        link.part(name).text() for name in ("column", "parent", "parent_column")
    )
    return Link(column, parent, above, unique)


def _limits(entry: Entry, parts: dict[str, Entry]) -> Limits:
    in_all = parts["max_rows_in_all"].whole() if "max_rows_in_all" in parts else None
    return Limits(entry.part("max_groups").whole(), entry.part("max_rows").whole(), in_all)


def _location(entry: Entry, parts: dict[str, Entry]) -> Location:
    table = parts["table"].text() if "table" in parts else entry.name
    return Location(entry.part("engine").text(), tuple(table.split(".")))
