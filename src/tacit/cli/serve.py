"""`tacit serve` and `tacit token`: serve a project over HTTP, and manage its tokens."""

import re
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import click

from tacit.cli import options
from tacit.errors import InvalidValue, UnknownName
from tacit.extras import load
from tacit.ledger import wall_clock
from tacit.numeric import exact, plain
from tacit.project import Allowance
from tacit.server import DAY_MS, Role, TokenScope, check_pass, owned_by, reached_by
from tacit.session import project_and_ledger
from tacit.store import AccessToken, Tokens, hash_of


@click.command()
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address to listen on."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8800,
    show_default=True,
    help="The port to listen on; 0 for any free port.",
)
@options.project
def serve(*, host: str, port: int, project: Path) -> None:
    """Serve the project's tables over HTTP, to clients with a token.

    Put a reverse proxy with TLS in front of it.
    """
    load("tacit.server.app", extra="server").serve(project, host, port)


# ------------------------------------------------------------------ token

ID = re.compile("[0-9a-f]{64}")


@click.group()
def token() -> None:
    """Issue, list and revoke the tokens of a server."""


@token.command()
@click.argument("who")
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    required=True,
    help="The role of the token.",
)
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    help="A dataset that the token may be used for. Default: all that are declared now.",
)
@click.option("--most", help="Largest epsilon of a question.")
@click.option(
    "--days",
    type=click.IntRange(1, 3650),
    default=30,
    show_default=True,
    help="Days for which the token is valid.",
)
@click.option(
    "--setup",
    is_flag=True,
    help="Allow an owner to connect databases over HTTP. The token reaches all that they own.",
)
@options.project
def issue(  # noqa: PLR0913 - one for each option
    *,
    who: str,
    role: str,
    datasets: tuple[str, ...],
    most: str | None,
    days: int,
    setup: bool,
    project: Path,
) -> None:
    """Issue a token for WHO. It is printed once; only its hash is stored.

    Its datasets are fixed now: it does not reach datasets that are declared later.
    """
    if setup and (role != Role.OWNER or datasets):
        raise InvalidValue(
            "--setup is for owners, and reaches all that they own: give no --dataset."
        )
    allowance = None if most is None else Allowance(epsilon=exact(most))
    wanted, until = (
        TokenScope(datasets or None, allowance, setup=setup),
        wall_clock() + days * DAY_MS,
    )
    with project_and_ledger(project) as (declared, home):
        scope = wanted.fix(declared.catalog)
        allowed = AccessToken(who, role, scope.text, until)
        check_pass(allowed, declared.catalog, home.ledger)
        if (
            role == Role.OWNER
            and not setup
            and not owned_by(who, declared.catalog, home.ledger)
        ):
            click.echo(
                f"{who} owns no population: the token reaches nothing until then.", err=True
            )
        click.echo(Tokens(home.store).issue(allowed))


@token.command("list")
@options.project
def list_tokens(*, project: Path) -> None:
    """Show the valid tokens by their ids, and what each reaches now.

    An id cannot be used as a token.
    """
    with project_and_ledger(project) as (declared, home):
        for hash_, allowed in Tokens(home.store).all(wall_clock()).items():
            reached = reached_by(allowed, declared.catalog, home.ledger)
            scope, most = ", ".join(reached) or "no dataset", TokenScope.of(allowed.scope).most
            until = datetime.fromtimestamp(allowed.expires / 1000, UTC).date()
            each = "" if most is None else f", {_most_text(most)}"
            click.echo(
                f"{hash_.hex()}  {allowed.role} {allowed.principal}: {scope}{each}, "
                f"until {until}"
            )


def _most_text(most: Allowance) -> str:
    name, amount = ("rho", most.rho) if most.epsilon is None else ("epsilon", most.epsilon)
    return f"at most {name} {plain(amount or Fraction(0))} for a question"


@token.command()
@click.argument("which", metavar="ID|TOKEN")
@options.project
def revoke(*, which: str, project: Path) -> None:
    """Revoke a token, given by its id or by the token itself."""
    hash_ = bytes.fromhex(which) if ID.fullmatch(which) else hash_of(which)
    with project_and_ledger(project) as (_, home):
        tokens = Tokens(home.store)
        if hash_ not in tokens.all(wall_clock()):
            raise UnknownName(
                "There is no such valid token, so nothing was revoked. `tacit token list` "
                "shows the ids of the valid ones."
            )
        tokens.revoke_hash(hash_)
    click.echo("Token revoked.")
