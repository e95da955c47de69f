"""Synthetic neighbouring databases for audits, generated from a seed.

`Choices` derives reproducible choices from a seed. The cells and the rows of people are chosen
to be difficult for code that bounds, casts, compares or sums them: NULL, extreme numbers,
values next to the declared bounds, and names that are easily confused. `neighbours` returns
two databases that differ in all rows of one person.
"""

from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from hashlib import shake_256
from math import inf, nan, nextafter
from typing import TypeVar

from tacit import core
from tacit.engines.reference import Cell, Row, Tables
from tacit.plan import NUMBERS

Item = TypeVar("Item")

FIRST_BYTES = 512


class Choices:
    """An endless sequence of choices, which depends only on the seed."""

    def __init__(self, seed: str) -> None:
        self._hash = shake_256(seed.encode())
        self._bytes = self._hash.digest(FIRST_BYTES)
        self._used = 0

    def below(self, most: int) -> int:
        """Return a number from 0 to below ``most``; the distribution is only nearly uniform."""
        if self._used == len(self._bytes):
            self._bytes = self._hash.digest(2 * len(self._bytes))
        high, low = self._bytes[self._used : self._used + 2]
        self._used += 2
        return (256 * high + low) % most

    def once_in(self, most: int) -> bool:
        """Return True once in about ``most`` times."""
        return self.below(most) == 0

    def one(self, items: Sequence[Item]) -> Item:
        """Return one of the items."""
        return items[self.below(len(items))]

    def some(self, least: int, most: int, make: Callable[[int], Item]) -> list[Item]:
        """Return ``least`` to ``most`` items, each of which ``make`` creates from its index."""
        return [make(place) for place in range(least + self.below(most - least + 1))]

    def permute(self, items: Sequence[Item]) -> list[Item]:
        """Return the items in an order that these choices determine."""
        found = list(items)
        for place in range(len(found) - 1, 0, -1):
            other = self.below(place + 1)
            found[place], found[other] = found[other], found[place]
        return found


# ------------------------------------------------------------------ cells

DAYS = (date(1999, 12, 31), date(2000, 2, 29), date(2024, 6, 1), date.min, date.max)

ORDINARY: dict[core.Kind, tuple[Cell, ...]] = {
    core.Kind.BOOLEAN: (True, False),
    core.Kind.INTEGER: (*range(-3, 10), 17, 18, 40, 99, 120),
    core.Kind.DECIMAL: tuple(
        map(Decimal, ("0", "1.25", "-10.50", "99.99", "0.01", "5", "17.5"))
    ),
    core.Kind.FLOAT: (0.0, 1.0, 0.5, 17.5, 99.9, -0.05, 0.1, 1 / 3),
    core.Kind.TEXT: (
        "north",
        "south",
        "it's",
        "",
        "NULL",
        "a|b",
        "a",
        "b",
        "Ärztin",
        "elsewhere",
    ),
    core.Kind.DATE: DAYS[:3],
    core.Kind.TIMESTAMP: tuple(datetime(2000, 2, 29, hour) for hour in (0, 1, 23)),  # noqa: DTZ001
}
EXTREME: dict[core.Kind, tuple[Cell, ...]] = {
    core.Kind.BOOLEAN: (True,),
    core.Kind.INTEGER: (2**63 - 1, -(2**63), 2**53 + 1, 2**62),
    core.Kind.DECIMAL: (Decimal("9999999999999999.99"), Decimal("-9999999999999999.99")),
    core.Kind.FLOAT: (nan, inf, -inf, -0.0, 1.7976931348623157e308, -1e308, 5e-324, 2.0**63),
    core.Kind.TEXT: ("x" * 3000, "\n", "e\u0301", "😀", "|", "%", "\\", "--", "\u202e", "İ"),
    core.Kind.DATE: DAYS[3:],
    core.Kind.TIMESTAMP: (
        datetime(1, 1, 2),  # noqa: DTZ001
        datetime(9999, 12, 31, 23, 59, 59, 999_999),  # noqa: DTZ001
    ),
}


def any_cell(column: core.Column, choices: Choices) -> Cell:
    """Return an ordinary cell, a cell near the declared values, NULL or an extreme cell."""
    none, hard, near = 0, 1, (2, 3)
    which = choices.below(8)
    if which == none:
        return None
    if which == hard:
        return choices.one(EXTREME[column.kind])
    cells = declared_values(column) if which in near else ()
    return choices.one(cells or ORDINARY[column.kind])


def declared_values(column: core.Column) -> tuple[Cell, ...]:
    """Return the keys of a column, or its bounds and the values next to them."""
    if column.keys is not None:
        dated = column.kind is core.Kind.DATE
        return tuple(date.fromisoformat(str(k)) if dated else k for k in column.keys.values)
    return () if column.bounds is None else _near(column.kind, column.bounds)


def _near(kind: core.Kind, bounds: core.Bounds) -> tuple[Cell, ...]:
    """Return the ends of an interval, and the values next to them."""
    ends = bounds.lower, bounds.upper
    match kind:
        case core.Kind.DECIMAL:
            hundredths = [round(end * 100) + more for end in ends for more in (-1, 0, 1)]
            return tuple(Decimal(f"{whole}e-2") for whole in hundredths)
        case core.Kind.FLOAT:
            near = [float(end) for end in ends]
            return (*near, *(nextafter(end, way) for end in near for way in (-inf, inf)))
    whole = [int(end) + more for end in ends for more in (-1, 0, 1)]
    if kind is core.Kind.TIMESTAMP:
        return tuple(datetime.combine(core.day_of(day), time.min) for day in whole)
    return tuple(map(core.day_of, whole)) if kind is core.Kind.DATE else tuple(whole)


def own_cell(kind: core.Kind, place: int) -> Cell:
    """Return a cell that only one row has."""
    match kind:
        case core.Kind.TEXT:
            return f"own {place}"
        case core.Kind.INTEGER:
            return 10**9 + place
        case core.Kind.DATE:
            return date(1950, 1, 1) + timedelta(days=place)
    return None


# ------------------------------------------------------------------ people

NAMES: dict[core.Kind, tuple[Cell, ...]] = {
    core.Kind.TEXT: ("a", "b", " a", "A", "", "it's", "NULL", "Ä", "a|b"),
    core.Kind.INTEGER: (1, 2, 0, -1, 12, 2**63 - 1, -(2**63), 2**53, 2**53 + 1),
}
"""Names that are easily confused with each other or with NULL.

The first name belongs to the person in whom neighbours differ.
"""

NOBODY, LAST = -1, 8
"""Indices of names: of rows without a person, and of the person who replaces the first."""

PUSHED: dict[core.Kind, Cell] = {
    core.Kind.INTEGER: 2**62,
    core.Kind.DECIMAL: 10**9,
    core.Kind.FLOAT: 1e300,
}

PUBLIC_ROWS = 6

ROOM = 1000
"""Number of row identifiers that are reserved for one person."""

Rows = dict[str, list[Row]]
"""The rows of one person, by table."""


Style = Callable[[core.Column, int, Choices], Cell]
"""A function that returns a person's cell for a column and a row number."""


def neighbours(
    catalog: core.Catalog, choices: Choices, most_rows: Sequence[int] = ()
) -> tuple[Tables, Tables]:
    """Return two databases that differ in all rows of one person, in different row orders.

    The maximum number of that person's rows in a table is one of ``most_rows``.
    """
    alone = len(catalog.datasets) == 1
    crowd = [
        person(catalog, place, 5 if alone else 3, choices)
        for place in (NOBODY, *range(1, 1 + choices.below(LAST - 1)))
    ]
    most = choices.one(most_rows or ((4, 8, 60) if alone else (3, 8)))
    them = [person(catalog, 0, most, choices)]
    instead = []
    if catalog.populations[0].unit.neighbours is core.Neighbours.REPLACE_ONE:
        instead = [person(catalog, choices.one((0, LAST)), most, choices)]
    sides = [together(catalog, [*crowd, *people], choices) for people in (them, instead)]
    before, after = choices.permute(sides)
    return before, after


def person(
    catalog: core.Catalog, place: int, most: int, choices: Choices, style: Style | None = None
) -> Rows:
    """Return all rows of the person whose name has the index ``place``; NULL if negative.

    The person has at most ``most`` rows in a table, and exactly ``most`` if a style is given.
    """
    found: Rows = {}
    for dataset in _parents_first(catalog):
        cell = style or _style(choices)
        found[dataset.name] = []
        rows = 0 if choices.once_in(8) else 1 + choices.below(most)
        if isinstance(dataset.unit, core.UnitColumn) and dataset.unit.one_row:
            rows = min(rows, 1)
        for number in range(rows if style is None else most):
            way = _unit_cell(catalog, dataset, place, found, choices)
            row: dict[str, Cell] = {
                column.name: cell(column, number, choices) for column in dataset.schema.columns
            }
            for name in _id_columns(catalog, dataset):
                kind = dataset.schema[name].kind
                row[name] = _own_id(kind, place, _number(number, choices))
            row[dataset.unit.column] = way
            found[dataset.name].append(row)
    return found


def together(catalog: core.Catalog, people: list[Rows], choices: Choices) -> Tables:
    """Return the tables with the rows of ``people``, and the public tables, in some order."""
    found = {
        dataset.location.table: [row for rows in people for row in rows[dataset.name]]
        for dataset in catalog.datasets
    }
    for public in catalog.public:
        # public tables must not depend on the people
        same = Choices(public.name)
        found[public.location.table] = [
            {column.name: any_cell(column, same) for column in public.schema.columns}
            for _ in range(PUBLIC_ROWS)
        ]
    return {table: choices.permute(rows) for table, rows in found.items()}


def _parents_first(catalog: core.Catalog) -> list[core.Dataset]:
    return sorted(catalog.datasets, key=lambda each: len(catalog.path_to_unit(each.name)))


def _id_columns(catalog: core.Catalog, dataset: core.Dataset) -> tuple[str, ...]:
    """Return the columns that identify rows: targets of links, and the row key."""
    links = [each.unit for each in catalog.datasets if isinstance(each.unit, core.Link)]
    led = [link.parent_column for link in links if link.parent == dataset.name]
    keyed = [dataset.row_key] if dataset.row_key else []
    return tuple(name for name in dict.fromkeys([*keyed, *led]) if name != dataset.unit.column)


def _number(number: int, choices: Choices) -> int | None:
    """Return the number of a row, or sometimes NULL or the number of the first row."""
    if choices.once_in(12):
        return choices.one((None, 0))
    return number


def _own_id(kind: core.Kind, place: int, number: int | None) -> Cell:
    return None if number is None else own_cell(kind, place * ROOM + number)


def _unit_cell(
    catalog: core.Catalog, dataset: core.Dataset, place: int, found: Rows, choices: Choices
) -> Cell:
    """Return the cell that links a row to its person.

    It is the person's name, or the identifier of one of the person's rows in a parent table.
    """
    way, kind = dataset.unit, dataset.schema[dataset.unit.column].kind
    above = catalog.dataset(way.parent).unit if isinstance(way, core.Link) else way
    if not isinstance(way, core.Link) or (
        isinstance(above, core.UnitColumn) and above.column == way.parent_column
    ):
        return NAMES[kind][place] if place >= 0 else None
    ids = [row[way.parent_column] for row in found[way.parent]]
    # some rows have a link that is broken or NULL
    return choices.one([*ids, *ids, *ids, *ids, None, _own_id(kind, place, ROOM - 1)])


def in_turn(first: int) -> Style:
    """Return a style that uses all possible cells in turn, from the index ``first``."""

    def cell(column: core.Column, number: int, choices: Choices) -> Cell:
        del choices
        cells = (*EXTREME[column.kind], None, *ORDINARY[column.kind], *declared_values(column))
        return cells[(first + number) % len(cells)]

    return cell


def _style(choices: Choices) -> Style:
    """Return a randomly chosen function that fills the cells of a person's rows."""
    return choices.one((_any, _any, _pushing, _pushing, _extreme, _own, _nothing, _alike))


def _any(column: core.Column, number: int, choices: Choices) -> Cell:
    del number
    return any_cell(column, choices)


def _pushing(column: core.Column, number: int, choices: Choices) -> Cell:
    """Return cells that visit every group in turn, with the largest possible numbers."""
    if column.kind in NUMBERS and column.keys is None:
        return PUSHED[column.kind]
    del choices
    cells = declared_values(column) or ORDINARY[column.kind]
    return cells[number % len(cells)]


def _extreme(column: core.Column, number: int, choices: Choices) -> Cell:
    del number
    return choices.one(EXTREME[column.kind])


def _own(column: core.Column, number: int, choices: Choices) -> Cell:
    return any_cell(column, choices) if number % 3 else own_cell(column.kind, number)


def _nothing(column: core.Column, number: int, choices: Choices) -> Cell:
    return any_cell(column, choices) if number == 0 else None


def _alike(column: core.Column, number: int, choices: Choices) -> Cell:
    del number, choices
    return any_cell(column, Choices(column.name))
