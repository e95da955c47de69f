"""`tacit team` and `tacit quota`: members of teams, quotas, and requests for larger ones.

These commands write to the ledger at once and leave the project file as it is. They open no
engine. Over HTTP, the same acts are in `tacit.server.routes.governance`.
"""

from pathlib import Path

import click

from tacit.accounting import show_loss
from tacit.cli import options
from tacit.client import connect
from tacit.core import Loss
from tacit.ledger import ActSigner, Ledger, Units, entries, request_id, stopped_text
from tacit.numeric import exact
from tacit.project import Allowance
from tacit.session import project_and_ledger, quota_of


@click.group()
def team() -> None:
    """Show and change teams: groups of analysts that share one quota."""


@team.command()
@click.argument("population")
@click.argument("name", metavar="TEAM")
@click.argument("who", nargs=-1, required=True)
@options.project
@options.principal
@options.signer
def add(  # noqa: PLR0913 - one for each option
    *,
    population: str,
    name: str,
    who: tuple[str, ...],
    project: Path,
    principal: str,
    signer: ActSigner | None,
) -> None:
    """Add analysts to TEAM, as an owner of POPULATION. Their later charges count for it too."""
    with (
        project_and_ledger(project) as (_, home),
        home.ledger.signed_by(signer).governing(by=principal) as acts,
    ):
        for member in who:
            acts.join(population, member, team_name(name))
    click.echo(f"{', '.join(who)}: now in {team_name(name)} of {population}.")


@team.command()
@click.argument("population")
@click.argument("name", metavar="TEAM")
@click.argument("who", nargs=-1, required=True)
@options.project
@options.principal
@options.signer
def remove(  # noqa: PLR0913 - one for each option
    *,
    population: str,
    name: str,
    who: tuple[str, ...],
    project: Path,
    principal: str,
    signer: ActSigner | None,
) -> None:
    """Remove analysts from TEAM, as an owner. The team keeps the sum of earlier charges."""
    with (
        project_and_ledger(project) as (_, home),
        home.ledger.signed_by(signer).governing(by=principal) as acts,
    ):
        for member in who:
            acts.leave(population, member, team_name(name))
    click.echo(f"{', '.join(who)}: no longer in {team_name(name)} of {population}.")


@team.command("list")
@click.argument("population")
@options.project
def list_teams(*, population: str, project: Path) -> None:
    """Show the teams of POPULATION, their members, and what is spent of their quotas."""
    with project_and_ledger(project) as (_, home):
        quotas = quota_texts(home.ledger, population)
        for name, members in home.ledger.teams(population).items():
            said = quotas.get(name, "no quota")
            click.echo(f"{name}: {', '.join(members)}; {said}")


def team_name(given: str) -> str:
    """Return the name of a team, with the @ that marks it.

    Example:
        >>> team_name("lab"), team_name("@lab")
        ('@lab', '@lab')
    """
    return given if given.startswith("@") else f"@{given}"


# ------------------------------------------------------------------ quota


@click.group()
def quota() -> None:
    """Show, set, request and grant quotas of analysts and teams."""


@quota.command("list")
@click.argument("population")
@options.project
def list_quotas(*, population: str, project: Path) -> None:
    """Show the quotas of POPULATION, what is spent of them, and the open requests."""
    with project_and_ledger(project) as (_, home):
        for holder, said in quota_texts(home.ledger, population).items():
            click.echo(f"{holder or 'each analyst without a quota'}: {said}")
        status = home.ledger.status(population)
        stopped = stopped_text(status)
        if stopped is not None:
            click.echo(stopped)
        for number, act in home.ledger.quota_requests(population).items():
            wanted = Units(act.amount, act.delta).loss(status.measure)
            why = f" ({act.reason})" if act.reason else ""
            click.echo(
                f"request {number}, known to {act.principal} as "
                f"{request_id(population, entries.encode_act(act))}: {act.principal} asks for "
                f"{show_loss(wanted, status.conversion_delta)} for {act.holder}{why}"
            )


@quota.command("set")
@click.argument("population")
@click.argument("who")
@click.option("--epsilon", required=True, help="The largest epsilon in all.")
@options.project
@options.principal
@options.signer
def set_quota(  # noqa: PLR0913 - one for each option
    *,
    population: str,
    who: str,
    epsilon: str,
    project: Path,
    principal: str,
    signer: ActSigner | None,
) -> None:
    """Set the quota of WHO, an analyst or @team, as an owner of POPULATION.

    A quota in the project file is set again by the next `tacit apply`.
    """
    with project_and_ledger(project) as (_, home):
        loss = loss_of(home.ledger, population, epsilon)
        home.ledger.signed_by(signer).set_quota(population, who, loss, by=principal)
    click.echo(f"The quota of {who} on {population} is set.")


@quota.command()
@click.argument("population")
@click.option("--epsilon", required=True, help="The epsilon in all, with what is spent.")
@click.option("--team", "name", help="The team that needs it. Default: you.")
@click.option("--reason", default="", help="The reason, in one line, which the ledger keeps.")
@options.server
@options.project
@options.principal
def request(  # noqa: PLR0913 - one for each option
    *,
    population: str,
    epsilon: str,
    name: str | None,
    reason: str,
    server: str | None,
    project: Path,
    principal: str,
) -> None:
    """Ask for a larger quota on POPULATION, as an analyst. An owner decides.

    A server identifies you by your token.
    """
    holder = None if name is None else team_name(name)
    if server:
        with connect(server) as session:
            named = session.request_quota(
                population, epsilon=epsilon, team=holder, reason=reason
            )
    else:
        with project_and_ledger(project) as (_, home):
            loss = loss_of(home.ledger, population, epsilon)
            entry = home.ledger.request_quota(
                population, loss, by=principal, team=holder, reason=reason
            )
            named = request_id(population, entry.body)
    click.echo(f"Request {named} is recorded. An owner of {population} decides it.")


@quota.command()
@click.argument("population")
@click.argument("request")
@click.option("--epsilon", help="Another epsilon in all than the one that was asked for.")
@options.project
@options.principal
@options.signer
def grant(  # noqa: PLR0913 - one for each option
    *,
    population: str,
    request: str,
    epsilon: str | None,
    project: Path,
    principal: str,
    signer: ActSigner | None,
) -> None:
    """Grant a REQUEST, named as in `tacit quota list`, as an owner of POPULATION."""
    with project_and_ledger(project) as (_, home):
        loss = None if epsilon is None else loss_of(home.ledger, population, epsilon)
        ledger = home.ledger.signed_by(signer)
        ledger.grant_quota(population, request, by=principal, cap=loss)
    click.echo(f"Request {request} is granted.")


@quota.command()
@click.argument("population")
@click.argument("request")
@options.project
@options.principal
@options.signer
def decline(
    *,
    population: str,
    request: str,
    project: Path,
    principal: str,
    signer: ActSigner | None,
) -> None:
    """Decline a REQUEST, as an owner of POPULATION. The quota stays as it is."""
    with project_and_ledger(project) as (_, home):
        home.ledger.signed_by(signer).decline_quota(population, request, by=principal)
    click.echo(f"Request {request} is declined.")


def loss_of(ledger: Ledger, population: str, epsilon: str) -> Loss:
    """Return a quota that was given as an epsilon, in the measure of the budget."""
    return quota_of(Allowance(epsilon=exact(epsilon)), ledger.status(population))


def quota_texts(ledger: Ledger, population: str) -> dict[str, str]:
    """Return for each holder what is spent of their quota, in words."""
    delta = ledger.status(population).conversion_delta
    return {
        each.holder: f"{show_loss(each.spent, delta)} is spent, of "
        + ("no quota" if each.quota is None else show_loss(each.quota, delta))
        for each in ledger.quotas(population)
    }
