"""What can be shown: named values, each perhaps with a range around it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Protocol

Value = Fraction | str | int | None
"""One cell; None is shown as NULL is."""

Range = tuple[Fraction, Fraction] | None
"""The range around a value, where there is one."""


class ShownColumn(Protocol):
    """Values under a name. Where there is a ``confidence``, each has its range or None."""

    @property
    def name(self) -> str:
        """What the values are called."""
        ...

    @property
    def values(self) -> Sequence[Value]:
        """One for each row."""
        ...

    @property
    def intervals(self) -> Sequence[Range]:
        """One for each value, or none at all."""
        ...

    @property
    def confidence(self) -> Fraction | None:
        """How often a range holds what it is meant to hold."""
        ...


# ------------------------------------------------------------------ cell
# One value as text: no more digits than mean something, and nothing that a terminal obeys.

MOST_DECIMALS = 12
PLAIN_DIGITS = 6
LONGEST_KEY = 80
NOTHING = ""


def safe(text: str) -> str:
    r"""``text`` without what a terminal, a log or a reader's eye would take for a command.

    Example:
        >>> safe("north\x1b[2J\u202e")
        'north\\x1b[2J\\u202e'
    """
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def cell(value: Value, around: Range = None) -> str:
    """A value, to as many digits as the range around it has a use for.

    Example:
        >>> cell(Fraction(100, 3), (Fraction(31), Fraction(36)))
        '33.3'
    """
    if value is None:
        return NOTHING
    if isinstance(value, str):
        shown = safe(value)
        return shown if len(shown) <= LONGEST_KEY else f"{shown[: LONGEST_KEY - 1]}…"
    if Fraction(value).denominator == 1:
        return str(value)
    decimals = _decimals(around)
    if decimals is None:
        return f"{float(value):.{PLAIN_DIGITS}g}"
    return _fixed(round(value * 10**decimals), decimals)


def interval(around: Range) -> str:
    """A range, rounded outward.

    Example:
        >>> interval((Fraction(313, 10), Fraction(3577, 100)))
        '[31.3, 35.8]'
    """
    if around is None:
        return NOTHING
    low, high = around
    whole = low.denominator == high.denominator == 1
    decimals = 0 if whole else _decimals(around) or 0
    unit = 10**decimals
    ends = (low * unit).__floor__(), (high * unit).__ceil__()
    return f"[{', '.join(_fixed(end, decimals) for end in ends)}]"


def _decimals(around: Range) -> int | None:
    """Digits after the point, so that half of the range has two."""
    if around is None or around[0] == around[1]:
        return None
    half, decimals = (around[1] - around[0]) / 2, 0
    while half < 10 and decimals < MOST_DECIMALS:  # noqa: PLR2004 - two digits
        half, decimals = half * 10, decimals + 1
    return decimals


def _fixed(units: int, decimals: int) -> str:
    """``units`` of the last digit, written out."""
    if not decimals:
        return str(units)
    digits = str(abs(units)).rjust(decimals + 1, "0")
    sign = "-" if units < 0 else ""
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}"


# ------------------------------------------------------------------ grid
# Columns as rows of text, with each range beside its value.

MOST_ROWS = 60
"""Rows that are shown; the rest is counted."""


@dataclass(frozen=True, slots=True)
class TextGrid:
    """Headings, rows of cells, which columns hold numbers, and how many rows are not shown."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    hidden: int


def grid_of(columns: Sequence[ShownColumn]) -> TextGrid:
    """The first rows of ``columns``, as text that is safe to print."""
    headings: list[str] = []
    shown: list[list[str]] = []
    numeric: list[bool] = []
    for column in columns:
        ranges = column.intervals or (None,) * len(column.values)
        pairs = list(zip(column.values, ranges, strict=True))[:MOST_ROWS]
        headings.append(safe(column.name))
        shown.append([cell(value, around) for value, around in pairs])
        numeric.append(not any(isinstance(value, str) for value in column.values))
        if column.confidence is not None:
            headings.append(f"{float(100 * column.confidence):.4g}%")
            shown.append([interval(around) for _, around in pairs])
            numeric.append(False)
    rows = tuple(zip(*shown, strict=True))
    total = len(columns[0].values) if columns else 0
    return TextGrid(tuple(headings), rows, tuple(numeric), total - len(rows))


# ------------------------------------------------------------------ text
# Columns as a table of text.

GAP = "  "


def text(columns: Sequence[ShownColumn]) -> str:
    """A table with headings; numbers stand to the right, and no line ends in spaces."""
    grid = grid_of(columns)
    lines = [grid.headings, *grid.rows]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    printed = [_line(cells, widths, grid.numeric) for cells in lines]
    if grid.hidden:
        printed.append(f"… {grid.hidden} more rows")
    return "\n".join(printed)


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    placed = [
        cell.rjust(width) if number else cell.ljust(width)
        for cell, width, number in zip(cells, widths, numeric, strict=True)
    ]
    return GAP.join(placed).rstrip()


# ------------------------------------------------------------------ html
# Columns as a table of HTML, for a notebook.


def html(columns: Sequence[ShownColumn], notes: Sequence[str] = ()) -> str:
    """A table and the lines below it.

    Guarantee: every name, key and note is text to a browser, whatever is written in it.
    """
    grid = grid_of(columns)
    head = "".join(f"<th>{escape(heading)}</th>" for heading in grid.headings)
    body = "".join(f"<tr>{_cells(cells, grid.numeric)}</tr>" for cells in grid.rows)
    hidden = [f"… {grid.hidden} more rows"] if grid.hidden else []
    below = "".join(
        f"<p>{'<br>'.join(escape(safe(line)) for line in note.splitlines())}</p>"
        for note in (*hidden, *notes)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def _cells(cells: Sequence[str], numeric: Sequence[bool]) -> str:
    return "".join(
        f'<td style="text-align:{"right" if number else "left"}">{escape(cell)}</td>'
        for cell, number in zip(cells, numeric, strict=True)
    )


# ------------------------------------------------------------------ fields
# Columns as plain lists under distinct names, for data frames and JSON.

Plain = int | float | str | None


def fields(columns: Sequence[ShownColumn]) -> dict[str, list[Plain]]:
    """Each column, and the ends of its ranges in ``_low`` and ``_high`` columns beside it.

    Whole columns of integers stay integers; other numbers are the nearest floats.
    """
    found: dict[str, list[Plain]] = {}
    taken = {column.name for column in columns}
    for column in columns:
        found[column.name] = _numbers(column.values)
        if column.confidence is not None:
            for place, end in enumerate(("low", "high")):
                name = f"{column.name}_{end}"
                while name in taken:
                    name += "_"
                taken.add(name)
                ends = [
                    None if around is None else around[place] for around in column.intervals
                ]
                found[name] = _numbers(ends)
    return found


def _numbers(values: Sequence[Value]) -> list[Plain]:
    whole = all(not isinstance(each, Fraction) or each.denominator == 1 for each in values)
    return [
        (int(each) if whole else float(each)) if isinstance(each, Fraction) else each
        for each in values
    ]
