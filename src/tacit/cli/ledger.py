"""`tacit ledger`: what auditors and second owners do."""

from datetime import UTC, datetime
from pathlib import Path

import click

from tacit.cli import options
from tacit.ledger.anchor import AnchorFile
from tacit.ledger.unanswered import MEANING
from tacit.session.project import beside


@click.group()
def ledger() -> None:
    """Verify the ledger, anchor it, approve what another owner proposed."""


@ledger.command()
@options.project
@click.option("--anchors", type=click.Path(path_type=Path), help="A file of anchors.")
def verify(*, project: Path, anchors: Path | None) -> None:
    """Walk every chain from its first entry."""
    anchor = AnchorFile(anchors).newest() if anchors else None
    with beside(project) as (_, home):
        for name in home.ledger.populations():
            click.echo(str(home.ledger.verify(name, anchor)))


@ledger.command()
@options.project
@click.argument("anchors", type=click.Path(path_type=Path))
def anchor(*, project: Path, anchors: Path) -> None:
    """Write where the chains end to a file; keep it where the ledger is not."""
    with beside(project) as (_, home):
        click.echo(AnchorFile(anchors).add(home.store).text)


@ledger.command()
@options.project
@options.principal
@click.argument("population")
def look(*, project: Path, principal: str, population: str) -> None:
    """Record, as an owner, that you looked at why an answer was late or failed.

    Nothing is charged about POPULATION until then. Each charge that was looked at is shown by
    its place in the chain; why it failed is written down nowhere.
    """
    with beside(project) as (_, home):
        seen = home.ledger.look(population, by=principal)
        status = home.ledger.status(population)
    for act in seen:
        when = datetime.fromtimestamp(act.at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        click.echo(f"charge {act.charge} of {population}: {MEANING[type(act)]}, {when}")
    click.echo(
        f"{principal} looked. Answers about {population} so far: {status.missed} late, "
        f"{status.failed} failed, {status.retried} run twice. Questions are charged again."
    )


@ledger.command()
@options.project
@options.principal
@click.argument("population")
@click.argument("proposal", type=int)
def approve(*, project: Path, principal: str, population: str, proposal: int) -> None:
    """Agree, as a second owner, to what the first one proposed."""
    with beside(project) as (_, home):
        home.ledger.approve(population, proposal, by=principal)
    click.echo(f"{principal} approved proposal {proposal} of {population}.")
