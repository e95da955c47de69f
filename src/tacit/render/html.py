"""Columns as a table of HTML, for a notebook."""

from collections.abc import Sequence
from html import escape

from tacit.render.cell import safe
from tacit.render.column import Column
from tacit.render.grid import grid_of


def html(columns: Sequence[Column], notes: Sequence[str] = ()) -> str:
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
