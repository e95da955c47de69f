"""`tacit status`, `tacit ledger`, `tacit freeze` and `tacit thaw`: budgets and governance."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from tacit.cli import options
from tacit.cli.keys import signing_note
from tacit.cli.ledger_files import export, restore, show
from tacit.core import spent_text
from tacit.errors import InvalidValue
from tacit.ledger import (
    MEANING,
    ActSigner,
    AmountTexts,
    AnchorFile,
    Book,
    Proposed,
    Status,
    check_fingerprint,
    has_lapsed,
    incident_lines,
    lapse_text,
    newest_anchor,
    status_fields,
    wall_clock,
)
from tacit.render import spell
from tacit.session import (
    begin_anchors,
    charge_difference,
    project_and_ledger,
    unrecorded_changes,
)


@click.command()
@click.option("--json", "json_", is_flag=True, help="Print JSON.")
@options.project
def status(*, json_: bool, project: Path) -> None:
    """Show each population's budget: what is spent, the total, and how many questions fit."""
    found: list[tuple[Status, Book]] = []
    with project_and_ledger(project) as (declared, home):
        for people in declared.people:
            name = people.population.name
            if name in home.ledger.populations():
                home.ledger.verify(name)
                found.append((home.ledger.status(name), home.ledger.current_book(name)))
                if not json_:
                    click.echo(line(*found[-1]))
    note = _unrecorded_note(project)
    if json_:
        budgets = [_as_json(*each) for each in found]
        told = {"budgets": budgets, "unrecorded": note}
        click.echo(json.dumps(told, ensure_ascii=False, indent=2))
    elif note is not None:
        click.echo(note)


def _unrecorded_note(project: Path) -> str | None:
    """Return a note if the project file has changes that the ledger lacks."""
    try:
        differs = any(not change.waits for change in unrecorded_changes(project))
    except InvalidValue as error:  # the budgets are shown in any case
        return str(error)
    if not differs:  # a proposal that waits is shown with its population
        return None
    return (
        f"{project.name} has changes that are not in the ledger. Run `tacit apply` to record "
        "them."
    )


def _as_json(status: Status, book: Book) -> dict[str, Any]:
    """Return the status of one population, whose chain was verified, for JSON."""
    return {
        **status_fields(status),
        "charges": book.paid,
        "more": left(status, book.paid) if book.paid else None,
        "entries": book.seq,
        "head": book.head.hex(),
        "owners": sorted(book.owners),
        "inherited": sorted(book.inherited),
        "restored": sorted(book.lost.values()),
        "proposals": [
            {
                "number": seq,
                "by": each.by,
                "at": each.at,
                "lapses": each.lapses or None,
                "what": _decision_text(status, each),
            }
            for seq, each in book.proposals.items()
        ],
    }


def line(status: Status, book: Book) -> str:
    """Return the lines about one population, whose chain was verified."""
    spent = spent_text(status.spent, status.cap, status.total_so_far, status.total)
    asked = book.paid
    more = (
        f"about {left(status, asked)} more like the {asked} so far" if asked else "none asked"
    )
    late = "".join(f"\n  {each}" for each in incident_lines(status))
    late += "".join(f"\n  {each}" for each in _waiting_lines(status, book, wall_clock()))
    if book.inherited:
        sources = ", ".join(sorted(book.inherited))
        late += f"\n  this includes the loss spent under {sources}, on the same tables"
    if book.lost:
        late += (
            "\n  an older copy of this ledger was restored, which lacked entry "
            f"{max(book.lost.values())}; an owner charged what was spent up to it"
        )
    late += signing_note(book.keys, book.owners)
    chain = f"ledger ok, {spell(book.seq, 'entry', 'entries')}"
    if book.declaration:
        chain += f"; the tables are declared in entry {book.declaration}"
    return f"{status.population}: spent {spent}\n  {more}; {chain}{late}"


def _waiting_lines(status: Status, book: Book, now: int) -> Iterator[str]:
    """Yield a line for each proposal that waits for a second owner, or has lapsed."""
    for seq, proposed in book.proposals.items():
        what = _decision_text(status, proposed)
        if has_lapsed(proposed, now):
            yield f"proposal {seq} of {proposed.by} has lapsed: {what}"
        elif not book.can_approve(seq, proposed):
            yield (
                f"proposal {seq} of {proposed.by} can no longer be approved, because its owner "
                f"or key counts no more: {what}; propose it again"
            )
        else:
            command = f"tacit ledger approve {book.population} {seq}"
            yield (
                f"proposal {seq} of {proposed.by} waits for a second owner"
                f"{lapse_text(proposed)}: {what}; `{command}`"
            )


def _decision_text(status: Status, proposed: Proposed) -> str:
    return AmountTexts.of(status).decision(proposed.decision, status.cap_units)


def left(status: Status, asked: int) -> int:
    """Return how many more questions of the mean price so far fit into the budget."""
    have, spent = status.cap_units - status.spent_units, status.spent_units
    pairs = ((have.amount, spent.amount), (have.delta, spent.delta))
    return min(more * asked // used for more, used in pairs if used)


# ------------------------------------------------------------------ ledger


@click.group()
def ledger() -> None:
    """Read, verify and move the ledger; review failures and proposals."""


for command in (show, export, restore):
    ledger.add_command(command)


@ledger.command()
@options.project
@click.option(
    "--anchors", type=click.Path(path_type=Path), help="A file of anchors to compare with."
)
@click.option(
    "--from-the-start", is_flag=True, help="Read every entry, and not from the checkpoints."
)
def verify(*, project: Path, anchors: Path | None, from_the_start: bool) -> None:
    """Verify every hash chain from its newest checkpoint, and against the newest anchor."""
    anchor = None
    if anchors is not None:
        anchor = AnchorFile(anchors).newest()
        if anchor is None:
            raise InvalidValue(
                f"There is no anchor in {anchors}. Name a file that `tacit ledger anchor` "
                "wrote."
            )
    with project_and_ledger(project) as (_, home):
        if anchor is None and home.place is not None:
            anchor = newest_anchor(home.place, home.signer)
        for name in home.ledger.populations():
            verdict = home.ledger.verify(name, anchor, from_the_start=from_the_start)
            click.echo(str(verdict))


@ledger.command()
@options.project
@click.option(
    "--start",
    is_flag=True,
    help="Begin new anchors, as an owner, in the place that [anchors] names.",
)
@options.principal
@options.signer
@click.argument("file", type=click.Path(path_type=Path), required=False)
def anchor(
    *,
    project: Path,
    start: bool,
    principal: str,
    signer: ActSigner | None,
    file: Path | None,
) -> None:
    """Append the newest hash of each chain to FILE. Store it apart from the ledger.

    Without FILE, the anchor is written to the place that the project file names.
    """
    if start and file is not None:
        raise InvalidValue("--start is for the place that [anchors] names, without a FILE.")
    if start:
        click.echo(begin_anchors(project, by=principal, signer=signer).text)
        return
    with project_and_ledger(project) as (_, home):
        if file is not None:
            click.echo(AnchorFile(file).add(home.store, home.signer, wall_clock).text)
            return
        if home.place is None or home.signer is None:
            raise InvalidValue(
                f"{project.name} names no place for anchors. Add the section [anchors] with a "
                "file, a folder or a command, or name a FILE."
            )
        if home.anchors is not None:
            home.anchors.renew()
        newest = newest_anchor(home.place, home.signer)
        click.echo("There is nothing to anchor yet." if newest is None else newest.text)


@ledger.command("charge-difference")
@options.project
@options.principal
@options.signer
@click.option(
    "--anchors",
    type=click.Path(path_type=Path),
    help="A file of anchors. Default: the place that [anchors] names.",
)
@click.option(
    "--anchor-key",
    metavar="FINGERPRINT",
    help="The key that signed the anchors, if the sealing key is lost.",
)
def difference(
    *,
    project: Path,
    principal: str,
    signer: ActSigner | None,
    anchors: Path | None,
    anchor_key: str | None,
) -> None:
    """Charge, as an owner, what a restored ledger has forgotten since its newest anchor.

    Do this after an older copy of the ledger was restored, because the newest one is lost.
    """
    found = charge_difference(
        project, by=principal, anchors=anchors, anchor_key=anchor_key, signer=signer
    )
    for each in found:
        click.echo(
            f"{each.population}: charged {each.amount}, which was spent up to entry "
            f"{each.place} after this copy was made."
        )
    if not found:
        click.echo("The ledger contains all that was anchored, so nothing was charged.")


@ledger.command(short_help="Record that you reviewed late and failed answers.")
@options.project
@options.principal
@options.signer
@click.argument("population")
def look(*, project: Path, principal: str, signer: ActSigner | None, population: str) -> None:
    """Record, as an owner, that you reviewed the late and failed answers.

    Nothing is charged about POPULATION until then. Each reviewed charge is listed by its number
    in the chain and by its receipt, by which you find it in the server's log. The reason of a
    failure is not recorded anywhere.
    """
    with project_and_ledger(project) as (_, home):
        seen = home.ledger.signed_by(signer).look(population, by=principal)
        receipts = {act.charge: home.ledger.receipt_at(population, act.charge) for act in seen}
        status = home.ledger.status(population)
    for act in seen:
        when = datetime.fromtimestamp(act.at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        click.echo(
            f"charge {act.charge} of {population}: {MEANING[type(act)]}, {when}, receipt "
            f"{receipts[act.charge].hex()}"
        )
    click.echo(
        f"Review by {principal} recorded. Answers about {population} so far: {status.missed} "
        f"late, {status.failed} failed, {status.retried} run twice. Questions are charged "
        "again."
    )


@ledger.command()
@options.project
@options.principal
@options.signer
@click.option("--fingerprint", help="For the key of another owner: its fingerprint.")
@click.argument("population")
@click.argument("proposal", type=int)
def approve(  # noqa: PLR0913 - one for each option
    *,
    project: Path,
    principal: str,
    signer: ActSigner | None,
    fingerprint: str | None,
    population: str,
    proposal: int,
) -> None:
    """Approve, as a second owner, a proposal of another owner.

    To approve the key of another owner, ask that person for its fingerprint, for example by
    telephone. Do not take it from the ledger: anybody with a shell can propose a key there.
    """
    with project_and_ledger(project) as (_, home):
        waiting = home.ledger.waiting_proposals(population)
        check_fingerprint(waiting.get(proposal), fingerprint)
        home.ledger.signed_by(signer).approve(population, proposal, by=principal)
    click.echo(f"{principal} approved proposal {proposal} of {population}.")


@ledger.command()
@options.project
@options.principal
@options.signer
@click.argument("population")
@click.argument("proposal", type=int)
def withdraw(
    *,
    project: Path,
    principal: str,
    signer: ActSigner | None,
    population: str,
    proposal: int,
) -> None:
    """Withdraw, as any owner, a proposal that waits. It can no longer be approved."""
    with project_and_ledger(project) as (_, home):
        home.ledger.signed_by(signer).withdraw(population, proposal, by=principal)
    click.echo(
        f"{principal} withdrew proposal {proposal} of {population}. If the project file still "
        "says it, the next `tacit apply` proposes it again."
    )


# ------------------------------------------------------------------ freeze and thaw
# These commands open no engine and read no declaration, so that a freeze works even if
# something else is wrong. It is recorded before the ledger is compared with its anchors.


@click.command()
@options.project
@options.principal
@click.argument("population")
def freeze(*, project: Path, principal: str, population: str) -> None:
    """Stop all charges about POPULATION at once, at every server, as an owner."""
    with project_and_ledger(project, checked=False) as (_, home):
        home.ledger.freeze(population, by=principal)
    click.echo(
        f"All charges about {population} are stopped. Stored answers stay free. To allow "
        f"charges again, run `tacit thaw {population}`."
    )
    with project_and_ledger(project):  # tells what is wrong, and writes an anchor
        pass


@click.command()
@options.project
@options.principal
@options.signer
@click.argument("population")
def thaw(*, project: Path, principal: str, signer: ActSigner | None, population: str) -> None:
    """Allow charges about POPULATION again, as an owner."""
    with project_and_ledger(project) as (_, home):
        home.ledger.signed_by(signer).thaw(population, by=principal)
    click.echo(f"Questions about {population} are charged and answered again.")
