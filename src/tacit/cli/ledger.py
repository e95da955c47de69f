"""`tacit status`: what is spent, what is left, and whether the ledger holds."""

from datetime import UTC, datetime
from pathlib import Path

import click

from tacit.cli import options
from tacit.core import rounded
from tacit.errors import InvalidValue
from tacit.ledger import MEANING, AnchorFile, Book, Status
from tacit.session import beside, missing_in


@click.command()
@options.project
def status(*, project: Path) -> None:
    """Show each population's budget: rho, the total epsilon, and how many questions fit."""
    with beside(project) as (declared, home):
        for people in declared.people:
            name = people.population.name
            if name in home.ledger.populations():
                home.ledger.verify(name)
                click.echo(line(home.ledger.status(name), home.ledger.book(name)))
    try:
        differs = bool(missing_in(project))
    except InvalidValue as error:  # what is spent is told all the same
        click.echo(str(error))
    else:
        if differs:
            click.echo(f"{project.name} says more than the ledger holds: tacit apply")


def line(status: Status, book: Book) -> str:
    """One population: what is spent, and that its chain was walked."""
    spent = f"{rounded(status.spent)} of {rounded(status.cap)} spent"
    total = f"{rounded(status.total_so_far)} so far, at most {rounded(status.total)}"
    asked = book.paid
    more = (
        f"about {left(status, asked)} more like the {asked} so far" if asked else "none asked"
    )
    late = ""
    if status.missed or status.failed or status.retried:
        late = (
            f"\n  {status.missed} answers were late, {status.failed} failed, "
            f"{status.retried} were run twice"
        )
    if status.locked:
        late += (
            f"; nothing is charged until an owner looks: tacit ledger look {book.population}"
        )
    if status.frozen:
        late += (
            "\n  an owner has stopped all charges; an owner allows them again: "
            f"tacit thaw {book.population}"
        )
    if book.inherited:
        sources = ", ".join(sorted(book.inherited))
        late += f"\n  what is spent includes what was spent under {sources}, on the same tables"
    held = f"ledger ok, {book.seq} entries"
    return f"{status.population}: {spent}\n  {total}\n  {more}; {held}{late}"


def left(status: Status, asked: int) -> int:
    """How many questions of the mean price so far still fit, by what runs out first."""
    have, spent = status.cap_units - status.spent_units, status.spent_units
    pairs = ((have.amount, spent.amount), (have.delta, spent.delta))
    return min(more * asked // used for more, used in pairs if used)


# ------------------------------------------------------------------ ledger
# `tacit ledger`: what auditors and second owners do.


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


# ------------------------------------------------------------------ freeze
# `tacit freeze` and `tacit thaw`: an owner stops charges about a population, or allows them.
#
# No engine is opened and no declaration is looked at: a stop works whatever else is wrong.


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
