"""Tables of columns with confidence intervals, as text, as HTML and as plain lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from math import ceil, floor
from typing import Protocol

Value = Fraction | str | int | None
"""One cell; None stands for NULL."""

Range = tuple[Fraction | None, Fraction | None] | None
"""The interval around a value, or None. An end that is None is open."""


class ShownColumn(Protocol):
    """A named column. If it has a ``confidence``, each value has an interval or None."""

    @property
    def name(self) -> str:
        """The name of the column."""
        ...

    @property
    def values(self) -> Sequence[Value]:
        """The values, one for each row."""
        ...

    @property
    def intervals(self) -> Sequence[Range]:
        """The intervals, one for each value, or an empty sequence."""
        ...

    @property
    def confidence(self) -> Fraction | None:
        """The confidence of the intervals."""
        ...

    @property
    def all_but(self) -> int | None:
        """The most units of which the intervals leave out rows; None if they leave out none."""
        ...


# ------------------------------------------------------------------ one cell as text

MOST_DECIMALS = 12
PLAIN_DIGITS = 6
LONGEST_KEY = 80
NOTHING, UNKNOWN = "", "not known"


def spell(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, in the plural unless it is one.

    Example:
        >>> spell(1, "charge"), spell(2, "charge"), spell(0, "entry", "entries")
        ('1 charge', '2 charges', '0 entries')
    """
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def safe(text: str) -> str:
    r"""Return ``text`` with its control characters escaped, for terminals and logs.

    Example:
        >>> safe("north\x1b[2J\u202e")
        'north\\x1b[2J\\u202e'
    """
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def cell(value: Value, around: Range = None) -> str:
    """Return a value as text, with only as many digits as its interval justifies.

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
    decimals = _decimals(around, Fraction(value))
    if decimals is None:
        return f"{float(value):.{PLAIN_DIGITS}g}"
    return _to_decimal(round(value * 10**decimals), decimals)


def interval(around: Range, value: Value = None) -> str:
    """Return the interval around ``value`` as text, rounded outward.

    Example:
        >>> interval((Fraction(313, 10), Fraction(3577, 100)))
        '[31.3, 35.8]'
        >>> interval((Fraction(313), None))
        'at least 313'
    """
    if around is None or around == (None, None):
        return NOTHING
    ends = [end for end in around if end is not None]
    number = Fraction(value) if isinstance(value, int | Fraction) else None
    whole = all(end.denominator == 1 for end in ends)
    decimals = 0 if whole else _decimals(around, number) or 0
    unit = 10**decimals
    low, high = (
        None if end is None else _to_decimal(rounded(end * unit), decimals)
        for end, rounded in zip(around, (floor, ceil), strict=True)
    )
    if low is None:
        return f"at most {high}"
    return f"at least {low}" if high is None else f"[{low}, {high}]"


def _decimals(around: Range, value: Fraction | None) -> int | None:
    """Return the number of decimals with which half of the interval has two digits.

    Of an interval with one end, the distance of this end from ``value`` is taken.
    """
    if around is None or around[0] == around[1]:
        return None
    low, high = around
    if low is None or high is None:
        end = high if low is None else low
        half = None if value is None or end is None else abs(value - end)
    else:
        half = (high - low) / 2
    if not half:
        return None
    decimals = 0
    while half < 10 and decimals < MOST_DECIMALS:  # noqa: PLR2004 - two digits
        half, decimals = half * 10, decimals + 1
    return decimals


def _to_decimal(units: int, decimals: int) -> str:
    """Return the decimal number with ``units`` of the last digit."""
    if not decimals:
        return str(units)
    digits = str(abs(units)).rjust(decimals + 1, "0")
    sign = "-" if units < 0 else ""
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}"


# ------------------------------------------------------------------ rows of text

MOST_ROWS = 60
"""Maximum number of rows that are shown. The number of further rows is stated."""


@dataclass(frozen=True, slots=True)
class TextGrid:
    """A table of text: headings, rows, which columns are numeric, and the rows not shown."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    hidden: int


def grid_of(columns: Sequence[ShownColumn]) -> TextGrid:
    """Return the first rows of ``columns``, as text that is safe to print."""
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
            headings.append(percent(column.confidence, column.all_but))
            shown.append(
                [
                    UNKNOWN if around is None and value is not None else interval(around, value)
                    for value, around in pairs
                ]
            )
            numeric.append(False)
    rows = tuple(zip(*shown, strict=True))
    total = len(columns[0].values) if columns else 0
    return TextGrid(tuple(headings), rows, tuple(numeric), total - len(rows))


def percent(confidence: Fraction, all_but: int | None) -> str:
    """Return the heading of a column of intervals.

    Example:
        >>> percent(Fraction(94, 100), 24)
        '94%, all but 24 people'
    """
    shown = f"{float(100 * confidence):.4g}%"
    if all_but is None:
        return shown
    return f"{shown}, all but {spell(all_but, 'person', 'people')}"


# ------------------------------------------------------------------ plain text

GAP = "  "


def text(columns: Sequence[ShownColumn]) -> str:
    """Return a text table with headings and right-aligned numbers."""
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


# ------------------------------------------------------------------ HTML for notebooks


def html(columns: Sequence[ShownColumn], notes: Sequence[str] = ()) -> str:
    """Return an HTML table and the notes below it.

    Guarantee: all names, keys and notes are escaped, so that a browser shows them as text.
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


# ------------------------------------------------------------------ plain lists

Plain = int | float | str | None


def fields(columns: Sequence[ShownColumn]) -> dict[str, list[Plain]]:
    """Return columns as lists with distinct names, for data frames and JSON.

    The ends of intervals are in additional columns, whose names end in ``_low`` and ``_high``.
    If intervals leave out rows of a few units, a column whose name ends in ``_all_but`` has the
    most units that this can be.
    A column of integers stays one; other numbers become the nearest floats.
    """
    found: dict[str, list[Plain]] = {}
    taken = {column.name for column in columns}
    for column in columns:
        found[column.name] = _numbers(column.values)
        if column.confidence is not None:
            for place, end in enumerate(("low", "high")):
                ends = [
                    None if around is None else around[place] for around in column.intervals
                ]
                found[_free_name(f"{column.name}_{end}", taken)] = _numbers(ends)
            if column.all_but is not None:
                name = _free_name(f"{column.name}_all_but", taken)
                found[name] = [column.all_but] * len(column.values)
    return found


def _free_name(name: str, taken: set[str]) -> str:
    """Return ``name``, with underscores added while it is taken, and mark it as taken."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _numbers(values: Sequence[Value]) -> list[Plain]:
    """Return fractions as integers, if all are integers of 64 bits, or else as floats."""
    found = [each for each in values if isinstance(each, Fraction)]
    whole = all(each.denominator == 1 and abs(each) < 2**63 for each in found)
    return [
        (int(each) if whole else float(each)) if isinstance(each, Fraction) else each
        for each in values
    ]
