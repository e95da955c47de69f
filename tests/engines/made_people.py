"""People that choices make: their rows in all tables, hard on whoever bounds them."""

from collections.abc import Callable

from choices import Choices
from made_catalog import ID, UNIT
from made_column import EXTREME, ORDINARY, any_cell, declared, own_cell

from tacit.core.catalog import Catalog
from tacit.core.column import Column, Kind
from tacit.core.dataset import Dataset, Link
from tacit.engines.joined import Tables
from tacit.engines.meaning import Cell, Row
from tacit.plan.kind import NUMBERS

NAMES: dict[Kind, tuple[Cell, ...]] = {
    Kind.TEXT: ("a", "b", " a", "A", "", "it's", "NULL", "Ä", "a|b"),
    Kind.INTEGER: (1, 2, 0, -1, 12, 2**63 - 1, -(2**63), 2**53, 2**53 + 1),
}
"""Names that are easily taken for one another, or for none; the first is the neighbour's."""

PUSHED: dict[Kind, Cell] = {Kind.INTEGER: 2**62, Kind.DECIMAL: 10**9, Kind.FLOAT: 1e300}

ROOM = 1000
"""Numbers of rows that one person has for their own."""

Rows = dict[str, list[Row]]
"""The rows of one person, by table."""


Style = Callable[[Column, int, Choices], Cell]
"""How a person fills the cells of a table: by column, and by the number of the row."""


def person(
    catalog: Catalog, place: int, most: int, choices: Choices, style: Style | None = None
) -> Rows:
    """All rows of the person at ``place`` among the names; from -1 on down they have none.

    They have at most ``most`` rows in a table, and as many where their style is given.
    """
    found: Rows = {}
    for dataset in catalog.datasets:
        cell = style or _style(choices)
        found[dataset.name] = []
        rows = 0 if choices.once_in(8) else 1 + choices.below(most)
        for number in range(rows if style is None else most):
            way = _leading(dataset, place, found, choices)
            row: dict[str, Cell] = {
                column.name: cell(column, number, choices) for column in dataset.schema.columns
            }
            if ID in dataset.schema:
                kind = dataset.schema[ID].kind
                row[ID] = _own_id(kind, place, _number(number, choices))
            row[dataset.unit.column] = way
            found[dataset.name].append(row)
    return found


def together(catalog: Catalog, people: list[Rows], choices: Choices) -> Tables:
    """The tables that hold the rows of ``people``, in some order."""
    return {
        dataset.location.table: choices.shuffled(
            [row for rows in people for row in rows[dataset.name]]
        )
        for dataset in catalog.datasets
    }


def _number(number: int, choices: Choices) -> int | None:
    """The number of a row: its own, or sometimes NULL or that of the person's first row."""
    if choices.once_in(12):
        return choices.one((None, 0))
    return number


def _own_id(kind: Kind, place: int, number: int | None) -> Cell:
    if number is None:
        return None
    whole = place * ROOM + number
    return whole if kind is Kind.INTEGER else f"row {whole}"


def _leading(dataset: Dataset, place: int, found: Rows, choices: Choices) -> Cell:
    """What leads a row to its person: their name, or the id of one of their rows above."""
    way, kind = dataset.unit, dataset.schema[dataset.unit.column].kind
    if not isinstance(way, Link) or way.parent_column == UNIT:
        return NAMES[kind][place] if place >= 0 else None
    ids = [row[ID] for row in found[way.parent]]
    # some lead to no row at all
    return choices.one([*ids, *ids, *ids, *ids, None, _own_id(kind, place, ROOM - 1)])


def in_turn(first: int) -> Style:
    """All cells that there are, one after the other, from the one at ``first`` on."""

    def cell(column: Column, number: int, choices: Choices) -> Cell:
        del choices
        cells = (*EXTREME[column.kind], None, *ORDINARY[column.kind], *declared(column))
        return cells[(first + number) % len(cells)]

    return cell


def _style(choices: Choices) -> Style:
    """How a person fills a table."""
    return choices.one((_mixed, _mixed, _pushing, _pushing, _extreme, _own, _nothing, _alike))


def _mixed(column: Column, number: int, choices: Choices) -> Cell:
    del number
    return any_cell(column, choices)


def _pushing(column: Column, number: int, choices: Choices) -> Cell:
    """Into every group in turn, and always to the same end."""
    if column.kind in NUMBERS and column.keys is None:
        return PUSHED[column.kind]
    del choices
    cells = declared(column) or ORDINARY[column.kind]
    return cells[number % len(cells)]


def _extreme(column: Column, number: int, choices: Choices) -> Cell:
    del number
    return choices.one(EXTREME[column.kind])


def _own(column: Column, number: int, choices: Choices) -> Cell:
    return any_cell(column, choices) if number % 3 else own_cell(column.kind, number)


def _nothing(column: Column, number: int, choices: Choices) -> Cell:
    return any_cell(column, choices) if number == 0 else None


def _alike(column: Column, number: int, choices: Choices) -> Cell:
    del number, choices
    return any_cell(column, Choices(column.name))
