"""Columns as rows of text, with each range beside its value."""

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.render.cell import cell, interval, safe
from tacit.render.column import Column

MOST_ROWS = 60
"""Rows that are shown; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Headings, rows of cells, which columns hold numbers, and how many rows are not shown."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    hidden: int


def grid_of(columns: Sequence[Column]) -> Grid:
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
    return Grid(tuple(headings), rows, tuple(numeric), total - len(rows))
