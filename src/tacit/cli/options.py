"""Options that several commands share."""

from getpass import getuser
from pathlib import Path

import click

from tacit.project.project import FILE

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
