"""`tacit serve`: the same door over HTTP."""

import re
from datetime import UTC, datetime
from pathlib import Path

import click

from tacit.cli import options
from tacit.extras import load
from tacit.ledger import wall_clock
from tacit.numeric import exact
from tacit.project import Allowance
from tacit.server import DAY_MS, Role, TokenScope, check_pass
from tacit.session import beside
from tacit.store import AccessToken, Tokens, hash_of


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=8800, show_default=True)
@options.project
def serve(*, host: str, port: int, project: Path) -> None:
    """Serve the project's tables to whoever has a token.

    Put a proxy that speaks TLS in front of it.
    """
    load("tacit.server.app", extra="server").serve(project, host, port)


# ------------------------------------------------------------------ token
# `tacit token`: who may come in to a server, decided where its ledger is.

ID = re.compile("[0-9a-f]{64}")


@click.group()
def token() -> None:
    """Issue, list and revoke the tokens of a server."""


@token.command()
@click.argument("who")
@click.option("--role", type=click.Choice([role.value for role in Role]), required=True)
@click.option("--dataset", "datasets", multiple=True, help="What it reaches; all, without one.")
@click.option("--most", help="The most epsilon that a question may ask for.")
@click.option("--days", type=click.IntRange(1, 3650), default=30, show_default=True)
@options.project
def issue(  # noqa: PLR0913 - one for each option
    *,
    who: str,
    role: str,
    datasets: tuple[str, ...],
    most: str | None,
    days: int,
    project: Path,
) -> None:
    """Make a token for WHO; it is printed once, and only its hash is kept."""
    allowance = None if most is None else Allowance(epsilon=exact(most))
    scope, until = TokenScope(datasets or None, allowance), wall_clock() + days * DAY_MS
    with beside(project) as (declared, home):
        allowed = AccessToken(who, role, scope.text, until)
        check_pass(allowed, declared.catalog, home.ledger)
        click.echo(Tokens(home.store).issue(allowed))


@token.command("list")
@options.project
def list_tokens(*, project: Path) -> None:
    """Show the valid tokens by their ids, which let nobody in."""
    with beside(project) as (_, home):
        for hash_, allowed in Tokens(home.store).all(wall_clock()).items():
            reach = ", ".join(TokenScope.of(allowed.scope).datasets or ("all datasets",))
            until = datetime.fromtimestamp(allowed.expires / 1000, UTC).date()
            click.echo(
                f"{hash_.hex()}  {allowed.role} {allowed.principal}: {reach}, until {until}"
            )


@token.command()
@click.argument("which", metavar="ID|TOKEN")
@options.project
def revoke(*, which: str, project: Path) -> None:
    """End a token, by its id or by itself."""
    hash_ = bytes.fromhex(which) if ID.fullmatch(which) else hash_of(which)
    with beside(project) as (_, home):
        tokens = Tokens(home.store)
        known = hash_ in tokens.all(wall_clock())
        tokens.revoke_hash(hash_)
    click.echo("It lets nobody in any more." if known else "There was no such valid token.")
