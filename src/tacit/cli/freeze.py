"""`tacit freeze` and `tacit thaw`: an owner stops charges about a population, or allows them.

No engine is opened and no declaration is looked at: a stop works whatever else is wrong.
"""

from pathlib import Path

import click

from tacit.cli import options
from tacit.session.project import beside


@click.command()
@options.project
@options.principal
@click.argument("population")
def freeze(*, project: Path, principal: str, population: str) -> None:
    """Stop all charges about POPULATION, at once and at every server."""
    with beside(project) as (_, home):
        home.ledger.freeze(population, by=principal)
    click.echo(
        f"Nothing about {population} is charged any more; stored answers stay free. Allow "
        f"charges again: tacit thaw {population}"
    )


@click.command()
@options.project
@options.principal
@click.argument("population")
def thaw(*, project: Path, principal: str, population: str) -> None:
    """Allow charges about POPULATION again, as an owner."""
    with beside(project) as (_, home):
        home.ledger.thaw(population, by=principal)
    click.echo(f"Questions about {population} are charged and answered again.")
