"""Options that several commands share."""

import csv
import io
import json
import sys
from collections.abc import Sequence
from getpass import getuser
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tacit.core import Answer, Release
from tacit.project import FILE
from tacit.render import Plain, ShownColumn, fields, grid_of

project = click.option(
    "--project",
    type=click.Path(path_type=Path),
    default=FILE,
    envvar="TACIT_PROJECT",
    show_default=True,
    help="The project file; its ledger is in .tacit/ beside it.",
)
principal = click.option(
    "--as",
    "principal",
    default=getuser,
    envvar="TACIT_USER",
    help="Who asks or decides; you, unless another is named.",
)


# ------------------------------------------------------------------ show
# Answers and previews on a terminal, in a pipe, as JSON and as CSV.

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""


def show(columns: Sequence[ShownColumn], notes: Sequence[str], plain: str) -> None:
    """A table and the lines below it; where no terminal is, plain text that is not folded."""
    if not sys.stdout.isatty():
        click.echo(plain)
        return
    console = Console()
    console.print(table_of(columns))
    for note in notes:
        console.print(Text(note), style="dim")


def table_of(columns: Sequence[ShownColumn]) -> Table:
    """A table whose cells are text: what looks like markup in a key is written as it is."""
    grid = grid_of(columns)
    table = Table()
    for heading, number in zip(grid.headings, grid.numeric, strict=True):
        table.add_column(Text(heading), justify="right" if number else "left")
    for row in grid.rows:
        table.add_row(*map(Text, row))
    return table


def as_json(answer: Answer) -> str:
    """The release and what it cost, for machines."""
    standing = answer.standing
    told = {
        "cost": str(standing.cost),
        "spent": str(standing.spent),
        "total": str(standing.total),
        "more": standing.more,
    }
    return json.dumps(answer.to_dict() | {"budget": told}, ensure_ascii=False, indent=2)


def as_csv(release: Release) -> str:
    """The columns, and the ends of intervals; no text in it is a formula to a spreadsheet."""
    found = fields(release.columns)
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(map(_harmless, found))
    writer.writerows(map(_harmless, row) for row in zip(*found.values(), strict=True))
    return written.getvalue()


def _harmless(value: Plain) -> Plain:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
