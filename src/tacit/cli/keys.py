"""`tacit key`: make the keys with which owners sign their acts, and decide whose keys count.

A key is a file that only its owner can read. Its public half is set by a decision of the
owners, as a raised cap is: an owner proposes a key for themselves, and a second owner approves
it. From the first key on, the ledger accepts no act of an owner without a signature, except a
freeze.
"""

from collections.abc import Collection
from pathlib import Path

import click

from tacit.cli import options
from tacit.errors import InvalidValue
from tacit.ledger import (
    ActSigner,
    Decision,
    KeySet,
    Ledger,
    OwnerKeys,
    SignInsEnded,
    SignInsTrusted,
    fingerprint,
)
from tacit.session import project_and_ledger, signing_key
from tacit.store import SigningKey


@click.group()
def key() -> None:
    """Make the key with which you sign as an owner, set it, and show whose keys count."""


@key.command()
@click.argument("file", type=click.Path(path_type=Path))
def new(*, file: Path) -> None:
    """Make a key in FILE, which only you can read. Store a copy where nobody else can."""
    made = ActSigner(SigningKey.make_file(file))
    click.echo(
        f"Wrote {file}. Its fingerprint is {fingerprint(made.key)}.\n"
        f"Next: tacit key set POPULATION {file}"
    )


@key.command()
@click.argument("file", type=click.Path(path_type=Path))
def show(*, file: Path) -> None:
    """Show the public key in FILE, and its fingerprint, which you tell to other owners."""
    found = ActSigner(SigningKey.in_file(file))
    click.echo(f"key {found.key}\nfingerprint {fingerprint(found.key)}")


@key.command("set")
@click.argument("population")
@click.argument("file", type=click.Path(path_type=Path))
@options.project
@options.principal
@options.signer
def set_key(
    *, population: str, file: Path, project: Path, principal: str, signer: ActSigner | None
) -> None:
    """Propose, as an owner of POPULATION, that the key in FILE is yours from now on.

    A second owner approves it. A single owner who replaces a key signs with the old one, by
    --key; other owners may do so.
    """
    mine = ActSigner(SigningKey.in_file(file))
    decision = KeySet(principal, mine.key)
    with project_and_ledger(project) as (_, home):
        place = _propose(home.ledger, population, decision, principal, signer or mine)
        is_set = home.ledger.owner_keys(population).key_of(principal) == mine.key
    if is_set:
        click.echo(f"{principal} signs acts about {population} with {fingerprint(mine.key)}.")
    else:
        click.echo(
            f"Proposal {place}: {principal} signs acts about {population} with "
            f"{fingerprint(mine.key)}. Tell this fingerprint to another owner, who runs: tacit "
            f"ledger approve {population} {place} --fingerprint FINGERPRINT"
        )


@key.command("list")
@click.argument("population")
@options.project
def list_keys(*, population: str, project: Path) -> None:
    """Show whose keys count for POPULATION, and which sign-ins its owners trust."""
    with project_and_ledger(project) as (_, home):
        keys, owners = home.ledger.owner_keys(population), home.ledger.owners(population)
        waiting = home.ledger.waiting_proposals(population)
    for owner in sorted(owners):
        held = keys.key_of(owner)
        click.echo(f"{owner}: {'no key' if held is None else fingerprint(held)}")
    for held, issuer in keys.trusted.items():
        click.echo(f"sign-ins at {issuer}, checked by the server {fingerprint(held)}")
    for place, act in waiting.items():
        if isinstance(act.decision, KeySet):
            click.echo(f"proposal {place} waits: a key of {act.decision.owner}")


@key.command()
@click.argument("population")
@options.project
@options.principal
@options.signer
def trust(*, population: str, project: Path, principal: str, signer: ActSigner | None) -> None:
    """Propose to accept owners who sign in at this project's identity provider.

    The server then signs for them, with the key of this installation. Its operator could sign
    in the name of each owner: trust the sign-ins of a server only if you trust its operator.
    """
    with project_and_ledger(project) as (declared, home):
        issuer = declared.serving.oidc
        if issuer is None:
            raise InvalidValue(
                f"{project.name} names no identity provider. Declare it in [server.oidc]."
            )
        installation = signing_key(project.parent).public.hex()
        decision = SignInsTrusted(installation, issuer.issuer)
        place = _propose(home.ledger, population, decision, principal, signer)
        trusted = installation in home.ledger.owner_keys(population).trusted
    said = "are trusted" if trusted else f"wait for a second owner, as proposal {place}"
    click.echo(f"Sign-ins at {issuer.issuer} {said}.")


@key.command()
@click.argument("population")
@click.argument("server", required=False)
@options.project
@options.principal
@options.signer
def distrust(
    *,
    population: str,
    server: str | None,
    project: Path,
    principal: str,
    signer: ActSigner | None,
) -> None:
    """Propose to accept no more sign-ins that SERVER checked, by its fingerprint.

    `tacit key list` shows it. Default: the only server whose sign-ins are trusted.
    """
    with project_and_ledger(project) as (_, home):
        trusted = home.ledger.owner_keys(population).trusted
        found = [held for held in trusted if server in {None, fingerprint(held)}]
        if len(found) != 1:
            shown = ", ".join(map(fingerprint, trusted)) or "none"
            raise InvalidValue(
                f"Name the server by its fingerprint. Trusted for {population}: {shown}."
            )
        place = _propose(home.ledger, population, SignInsEnded(found[0]), principal, signer)
        waits = found[0] in home.ledger.owner_keys(population).trusted
    said = f"end when a second owner approves proposal {place}" if waits else "count no more"
    click.echo(f"Sign-ins at {trusted[found[0]]} {said}.")


def _propose(
    ledger: Ledger, population: str, decision: Decision, by: str, signer: ActSigner | None
) -> int:
    return ledger.signed_by(signer).propose(population, decision, by=by).seq


# ------------------------------------------------------------------ other commands


def signing_note(keys: OwnerKeys, owners: Collection[str]) -> str:
    """Return the line of `tacit status` about signatures; it is empty for a single owner.

    Example:
        >>> signing_note(OwnerKeys(), {"olga"})
        ''
    """
    if keys.since:
        named = ", ".join(
            owner if keys.key_of(owner) else f"{owner} (no key yet)" for owner in sorted(owners)
        )
        trusted = " or by sign-ins at ".join(["", *sorted(set(keys.trusted.values()))])
        return f"\n  acts of owners are signed, by keys of {named}{trusted}"
    if len(owners) > 1:
        return (
            "\n  acts of owners are not signed: one person with a shell can act as each of "
            "them; see `tacit key`"
        )
    return ""
