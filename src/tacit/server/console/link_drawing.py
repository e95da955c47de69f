"""A drawing of how tables are linked to the people whom they are about.

The drawing is placed here and rendered by a template, once for wide screens, where links go to
the right, and once for phones, where they go down. Names can have any length: they are cut to
the width of their box, and a list in words has them whole.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDE, NARROW = 1040, 340
MOST_BOXES = 24
"""The most tables of a population that are drawn; a list has all of them."""

MOST_COLUMNS = 5
"""The longest chain of links, with the person, that is drawn from left to right."""

TITLE_CHARACTER, NOTE_CHARACTER = 7.4, 6.7
"""The widths of an average character of a title and of a note, of 12 px each, rounded up."""

BOX_HEIGHT, ROW_HEIGHT, TOP = 58, 78, 30
STEP_DOWN, INDENT, NARROW_HEIGHT = 84, 20, 54


@dataclass(frozen=True, slots=True)
class TableBox:
    """A rectangle with two lines of text: the person, or a table."""

    x: float
    y: float
    width: float
    height: float
    title: str
    note: str
    is_person: bool


@dataclass(frozen=True, slots=True)
class Wire:
    """A line between two boxes, and its label."""

    path: str
    label: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Sketch:
    """Boxes and wires in a rectangle of this size."""

    width: float
    height: float
    boxes: tuple[TableBox, ...]
    wires: tuple[Wire, ...]


@dataclass(frozen=True, slots=True)
class LinkDrawing:
    """The tables of one population: drawn wide and narrow, and in words."""

    population: str
    unit: str
    words: tuple[str, ...]
    left_out: int
    wide: Sketch | None
    narrow: Sketch


@dataclass(frozen=True, slots=True)
class _Placed:
    """A table in the tree of links: its depth, its row, and the place of its parent."""

    name: str
    note: str
    label: str
    depth: int
    row: int
    parent: int


def link_drawings(catalog: Mapping[str, Any]) -> list[LinkDrawing]:
    """Return a drawing for each population of the JSON of ``GET /v1/datasets``."""
    return [
        _drawing(
            each["name"],
            each["unit"],
            [table for table in catalog["datasets"] if table["population"] == each["name"]],
        )
        for each in catalog["populations"]
    ]


def _drawing(population: str, unit: str, tables: Sequence[Mapping[str, Any]]) -> LinkDrawing:
    words = tuple(_in_words(each, unit) for each in tables)
    every = _place_tables(tables)
    placed = every[:MOST_BOXES]
    is_wide = max((each.depth for each in placed), default=0) < MOST_COLUMNS
    return LinkDrawing(
        population,
        unit,
        words,
        len(every) - len(placed),
        _wide(placed, unit) if is_wide else None,
        _narrow(placed, unit),
    )


def _in_words(table: Mapping[str, Any], unit: str) -> str:
    name = table["name"]
    if "unit" in table:
        return (
            f"Each row of {name} belongs to the {unit} in its column {table['unit']['column']}."
        )
    link = table["link"]
    return (
        f"Each row of {name} belongs to the row of {link['parent']} whose "
        f"{link['parent_column']} is its {link['column']}."
    )


def _place_tables(tables: Sequence[Mapping[str, Any]]) -> list[_Placed]:
    """Return the tables in the order of their tree: a parent comes before its children.

    The row of a first child is its parent's row, so that a chain of links is a straight line.
    """
    children: dict[str | None, list[Mapping[str, Any]]] = {}
    for each in tables:
        children.setdefault(each["link"]["parent"] if "link" in each else None, []).append(each)
    found: list[_Placed] = []
    next_row = 0
    waiting = [(each, 1, -1, at > 0) for at, each in enumerate(children.get(None, ()))][::-1]
    while waiting:
        table, depth, parent, is_new_row = waiting.pop()
        next_row += is_new_row
        one = table["max_groups"] == table["max_rows"] == 1
        note = (
            "names the person"
            if "unit" in table
            else "{column} → {parent}.{parent_column}".format_map(table["link"])
        )
        label = "counts once" if one else "many rows"
        found.append(_Placed(table["name"], note, label, depth, next_row, parent))
        here = len(found) - 1
        below = children.get(table["name"], ())
        waiting.extend([(each, depth + 1, here, at > 0) for at, each in enumerate(below)][::-1])
    return found


def _wide(placed: Sequence[_Placed], unit: str) -> Sketch:
    columns = max((each.depth for each in placed), default=0) + 1
    gap = 104.0 if columns < MOST_COLUMNS else 84.0
    width = min((WIDE - 8 - gap * (columns - 1)) / columns, 220.0)

    def left(depth: int) -> float:
        return 4 + depth * (width + gap)

    boxes = [_person(4, TOP, (width, BOX_HEIGHT), unit)]
    wires = []
    for each in placed:
        x, y = left(each.depth), TOP + each.row * ROW_HEIGHT
        boxes.append(_box(x, y, (width, BOX_HEIGHT), each))
        from_row = placed[each.parent].row if each.parent >= 0 else 0
        start_y, end_y = TOP + from_row * ROW_HEIGHT + BOX_HEIGHT / 2, y + BOX_HEIGHT / 2
        start_x, middle = x - gap, x - gap + 14
        path = f"M{start_x:g} {start_y:g}H{middle:g}V{end_y:g}H{x:g}"
        label_x = (middle + x) / 2 if each.row != from_row else (start_x + x) / 2
        wires.append(Wire(path, each.label, label_x, end_y - 9))
    rows = max((each.row for each in placed), default=0) + 1
    return Sketch(WIDE, TOP + rows * ROW_HEIGHT - 12, tuple(boxes), tuple(wires))


def _narrow(placed: Sequence[_Placed], unit: str) -> Sketch:
    """Return the tree from above to below; deeper tables are a little to the right."""

    def left(depth: int) -> float:
        return 4 + min(depth, 6) * INDENT

    boxes = [_person(4, 4, (220, NARROW_HEIGHT), unit)]
    wires = []
    for at, each in enumerate(placed):
        x, y = left(each.depth), 4 + (at + 1) * STEP_DOWN
        boxes.append(_box(x, y, (NARROW - 4 - x, NARROW_HEIGHT), each))
        above = 4 + (each.parent + 1) * STEP_DOWN + NARROW_HEIGHT
        start = left(each.depth - 1) + INDENT / 2
        path = f"M{start:g} {above:g}V{y + NARROW_HEIGHT / 2:g}H{x:g}"
        wires.append(Wire(path, each.label, start + INDENT, y - 10))
    height = 4 + len(placed) * STEP_DOWN + NARROW_HEIGHT + 4
    return Sketch(NARROW, height, tuple(boxes), tuple(wires))


def _person(x: float, y: float, size: tuple[float, float], unit: str) -> TableBox:
    return TableBox(x, y, *size, cut(unit, size[0]), "whom we protect", is_person=True)


def _box(x: float, y: float, size: tuple[float, float], placed: _Placed) -> TableBox:
    title, note = cut(placed.name, size[0]), cut(placed.note, size[0], NOTE_CHARACTER)
    return TableBox(x, y, *size, title, note, is_person=False)


def cut(text: str, width: float, character: float = TITLE_CHARACTER) -> str:
    """Return as much of a text as fits into a box of this width.

    Example:
        >>> cut("visits", 200), cut("a_very_long_name_of_a_table", 120)
        ('visits', 'a_very_lon…')
    """
    room = int((width - 32) / character)
    shown = "".join(_visible_characters(text))
    used = 0
    for at, each in enumerate(shown):
        used += 2 if unicodedata.east_asian_width(each) in "WF" else 1
        if used > room:
            return f"{shown[: max(0, at - 1)]}…"
    return shown


def _visible_characters(text: str) -> Iterator[str]:
    """Yield the characters of a text; marks without a glyph of their own are replaced."""
    for each in text:
        yield "�" if unicodedata.category(each) in {"Cc", "Cf", "Cs", "Zl", "Zp"} else each
