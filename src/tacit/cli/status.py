"""`tacit status`: what is spent, what is left, and whether the ledger holds."""

from pathlib import Path

import click

from tacit.cli import options
from tacit.core.standing import rounded
from tacit.errors import InvalidValue
from tacit.ledger.book import Book
from tacit.ledger.status import Status
from tacit.session.project import beside, missing_in


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
