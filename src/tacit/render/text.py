"""Columns as a table of text."""

from collections.abc import Sequence

from tacit.render.column import Column
from tacit.render.grid import grid_of

GAP = "  "


def text(columns: Sequence[Column]) -> str:
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
