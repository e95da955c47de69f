"""`tacit apply`: what the project file says, as acts of an owner in the ledger."""

from pathlib import Path

import click

from tacit.cli import options
from tacit.errors import TacitError
from tacit.session.project import apply_project, missing_in, open_project, proposed_in


@click.command()
@options.project
@options.principal
@click.option("--yes", is_flag=True, help="Record it without being asked.")
def apply(*, project: Path, principal: str, yes: bool) -> None:
    """Show what the ledger does not hold yet, and record it."""
    missing = proposed_in(project)
    for change in missing:
        click.echo(str(change))
    if not missing:
        click.echo(f"The ledger holds all that {project.name} says.")
        return
    if all(change.waits for change in missing):
        click.echo("Another owner approves: tacit ledger approve POPULATION PROPOSAL")
        return
    if not yes:
        click.confirm(f"Record this in the ledger, as {principal}?", abort=True)
    recorded = apply_project(project, by=principal)
    click.echo(f"Recorded by {principal}.")
    waiting = {each.population for each in missing} - {each.population for each in recorded}
    if waiting:
        click.echo(f"Not recorded, since others own it: {', '.join(sorted(waiting))}.")
    if missing_in(project):
        return  # other owners have yet to act
    try:
        open_project(project, principal=principal).close()
    except TacitError as error:
        click.echo(f"Questions are refused until this is mended:\n{error}")
