"""Options that several commands share, and the output of answers.

Answers and previews are shown as a table on a terminal, as plain text in a pipe, and as JSON or
CSV on request.
"""

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
from tacit.ledger import ActSigner
from tacit.project import FILE
from tacit.render import Plain, ShownColumn, fields, grid_of
from tacit.store import SigningKey

project = click.option(
    "--project",
    type=click.Path(path_type=Path),
    default=FILE,
    envvar="TACIT_PROJECT",
    show_default=True,
    help="The project file. Its ledger is in .tacit/ next to it.",
)
principal = click.option(
    "--as",
    "principal",
    default=getuser,
    envvar="TACIT_USER",
    help="The analyst or owner in whose name you act. Default: your user name.",
)


def _signer_of(_: click.Context, __: click.Parameter, path: Path | None) -> ActSigner | None:
    return None if path is None else ActSigner(SigningKey.in_file(path))


signer = click.option(
    "--key",
    "signer",
    type=click.Path(path_type=Path),
    envvar="TACIT_KEY",
    callback=_signer_of,
    help="The file of your key, with which you sign as an owner. See `tacit key`.",
)

server = click.option(
    "--server",
    envvar="TACIT_SERVER",
    help="The url of a server to ask, with the token in TACIT_TOKEN.",
)


# ------------------------------------------------------------------ output

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Characters with which a formula begins in a spreadsheet."""


def show(columns: Sequence[ShownColumn], notes: Sequence[str], plain: str) -> None:
    """Print a table with notes below it, or the text ``plain`` if stdout is not a terminal."""
    if not sys.stdout.isatty():
        click.echo(plain)
        return
    console = Console()
    console.print(table_of(columns))
    for note in notes:
        console.print(Text(note), style="dim")


def table_of(columns: Sequence[ShownColumn]) -> Table:
    """Return a table whose cells are plain text, so that markup in a key is not interpreted."""
    grid = grid_of(columns)
    table = Table()
    for heading, number in zip(grid.headings, grid.numeric, strict=True):
        table.add_column(Text(heading), justify="right" if number else "left")
    for row in grid.rows:
        table.add_row(*map(Text, row))
    return table


def as_json(answer: Answer) -> str:
    """Return an answer and its cost as JSON."""
    standing = answer.standing
    budget = {
        "cost": str(standing.cost),
        "spent": str(standing.spent),
        "total": str(standing.total),
        "more": standing.more,
        "stopped": standing.stopped or None,
    }
    return json.dumps(answer.to_dict() | {"budget": budget}, ensure_ascii=False, indent=2)


def as_csv(release: Release) -> str:
    """Return the columns, with the ends of intervals, as CSV.

    A text that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    found = fields(release.columns)
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(map(_escape_formula, found))
    writer.writerows(map(_escape_formula, row) for row in zip(*found.values(), strict=True))
    return written.getvalue()


def _escape_formula(value: Plain) -> Plain:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
