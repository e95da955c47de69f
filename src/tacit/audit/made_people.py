"""People that choices make: their rows in all tables, hard on whoever bounds them."""

from collections.abc import Callable, Sequence

from tacit.audit.choices import Choices
from tacit.audit.made_cell import EXTREME, ORDINARY, any_cell, declared, own_cell
from tacit.core.catalog import Catalog
from tacit.core.column import Column, Kind
from tacit.core.dataset import Dataset, Link, UnitColumn
from tacit.core.unit import Neighbours
from tacit.engines.joined import Tables
from tacit.engines.meaning import Cell, Row
from tacit.plan.kind import NUMBERS

NAMES: dict[Kind, tuple[Cell, ...]] = {
    Kind.TEXT: ("a", "b", " a", "A", "", "it's", "NULL", "Ä", "a|b"),
    Kind.INTEGER: (1, 2, 0, -1, 12, 2**63 - 1, -(2**63), 2**53, 2**53 + 1),
}
"""Names that are easily taken for one another, or for none; the first is the neighbour's."""

NOBODY, LAST = -1, 8
"""Places among the names: rows of nobody, and whoever comes instead of the first."""

PUSHED: dict[Kind, Cell] = {Kind.INTEGER: 2**62, Kind.DECIMAL: 10**9, Kind.FLOAT: 1e300}

PUBLIC_ROWS = 6

ROOM = 1000
"""Numbers of rows that one person has for their own."""

Rows = dict[str, list[Row]]
"""The rows of one person, by table."""


Style = Callable[[Column, int, Choices], Cell]
"""How a person fills the cells of a table: by column, and by the number of the row."""


def neighbours(
    catalog: Catalog, choices: Choices, most_rows: Sequence[int] = ()
) -> tuple[Tables, Tables]:
    """Two databases that differ in all rows of one person, each in an order of its own.

    That person has at most one of ``most_rows`` in a table.
    """
    alone = len(catalog.datasets) == 1
    crowd = [
        person(catalog, place, 5 if alone else 3, choices)
        for place in (NOBODY, *range(1, 1 + choices.below(LAST - 1)))
    ]
    most = choices.one(most_rows or ((4, 8, 60) if alone else (3, 8)))
    them = [person(catalog, 0, most, choices)]
    instead = []
    if catalog.populations[0].unit.neighbours is Neighbours.REPLACE_ONE:
        instead = [person(catalog, choices.one((0, LAST)), most, choices)]
    sides = [together(catalog, [*crowd, *people], choices) for people in (them, instead)]
    before, after = choices.shuffled(sides)
    return before, after


def person(
    catalog: Catalog, place: int, most: int, choices: Choices, style: Style | None = None
) -> Rows:
    """All rows of the person at ``place`` among the names; from -1 on down they have none.

    They have at most ``most`` rows in a table, and as many where their style is given.
    """
    found: Rows = {}
    for dataset in _parents_first(catalog):
        cell = style or _style(choices)
        found[dataset.name] = []
        rows = 0 if choices.once_in(8) else 1 + choices.below(most)
        if isinstance(dataset.unit, UnitColumn) and dataset.unit.one_row:
            rows = min(rows, 1)
        for number in range(rows if style is None else most):
            way = _leading(catalog, dataset, place, found, choices)
            row: dict[str, Cell] = {
                column.name: cell(column, number, choices) for column in dataset.schema.columns
            }
            for name in _numbered(catalog, dataset):
                kind = dataset.schema[name].kind
                row[name] = _own_id(kind, place, _number(number, choices))
            row[dataset.unit.column] = way
            found[dataset.name].append(row)
    return found


def together(catalog: Catalog, people: list[Rows], choices: Choices) -> Tables:
    """The tables that hold the rows of ``people``, and the public ones, in some order."""
    found = {
        dataset.location.table: [row for rows in people for row in rows[dataset.name]]
        for dataset in catalog.datasets
    }
    for public in catalog.public:
        # the same whoever the people are
        same = Choices(public.name)
        found[public.location.table] = [
            {column.name: any_cell(column, same) for column in public.schema.columns}
            for _ in range(PUBLIC_ROWS)
        ]
    return {table: choices.shuffled(rows) for table, rows in found.items()}


def _parents_first(catalog: Catalog) -> list[Dataset]:
    return sorted(catalog.datasets, key=lambda each: len(catalog.path_to_unit(each.name)))


def _numbered(catalog: Catalog, dataset: Dataset) -> tuple[str, ...]:
    """The columns that tell rows apart: those that other tables lead to, and the row key."""
    links = [each.unit for each in catalog.datasets if isinstance(each.unit, Link)]
    led = [link.parent_column for link in links if link.parent == dataset.name]
    keyed = [dataset.row_key] if dataset.row_key else []
    return tuple(name for name in dict.fromkeys([*keyed, *led]) if name != dataset.unit.column)


def _number(number: int, choices: Choices) -> int | None:
    """The number of a row: its own, or sometimes NULL or that of the person's first row."""
    if choices.once_in(12):
        return choices.one((None, 0))
    return number


def _own_id(kind: Kind, place: int, number: int | None) -> Cell:
    return None if number is None else own_cell(kind, place * ROOM + number)


def _leading(
    catalog: Catalog, dataset: Dataset, place: int, found: Rows, choices: Choices
) -> Cell:
    """What leads a row to its person: their name, or the id of one of their rows above."""
    way, kind = dataset.unit, dataset.schema[dataset.unit.column].kind
    above = catalog.dataset(way.parent).unit if isinstance(way, Link) else way
    if not isinstance(way, Link) or (
        isinstance(above, UnitColumn) and above.column == way.parent_column
    ):
        return NAMES[kind][place] if place >= 0 else None
    ids = [row[way.parent_column] for row in found[way.parent]]
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
