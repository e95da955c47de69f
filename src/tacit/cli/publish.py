"""`tacit publish`: publish a question every day, week or month under one charge."""

from contextlib import ExitStack
from datetime import datetime
from functools import partial
from os import environ
from pathlib import Path

import click

from tacit.accounting import show_loss
from tacit.cli import options
from tacit.errors import InvalidValue, TacitError
from tacit.extras import load
from tacit.plan import Span
from tacit.project import ENVIRONMENT
from tacit.publish import Publication, Publications, run
from tacit.session import Session, open_project, project_and_ledger, variable_value
from tacit.stream import ALL, EACH, Periods, Window, expected_step_errors, policy_of

SPANS = {span.value.lower(): span for span in Span}
DAY = click.DateTime(formats=["%Y-%m-%d"])


@click.group()
def publish() -> None:
    """Publish the same question every day, week or month, under one charge for all periods."""


@publish.command(short_help="Declare a publication, and charge all of its periods.")
@click.argument("name")
@click.argument("sql")
@click.option("--day", required=True, help="The date column that assigns a row to a period.")
@click.option(
    "--every",
    type=click.Choice(list(SPANS)),
    default="week",
    show_default=True,
    help="Length of a period.",
)
@click.option(
    "--from",
    "first",
    type=DAY,
    metavar="YYYY-MM-DD",
    required=True,
    help="A day in the first period.",
)
@click.option("--steps", type=int, required=True, help="Number of periods.")
@click.option("--epsilon", help="Privacy loss of all periods together, such as 1.")
@click.option("--rho", help="Privacy loss of all periods, in rho instead of epsilon.")
@click.option("--delta", default="0", help="Delta, for a budget in epsilon with delta.")
@click.option(
    "--shows",
    default="each",
    show_default=True,
    help="each: one period; total: all so far; a number: that many last periods together.",
)
@click.option(
    "--in-at-most",
    type=int,
    help="Most periods in which a person counts: the first that have rows of the person. "
    "Default: all.",
)
@click.option("--wait", type=int, default=0, help="Days to wait for late rows.")
@click.option(
    "--quote", is_flag=True, help="Show the price and the guarantee only. Free; reads no data."
)
@options.project
@options.principal
def declare(  # noqa: PLR0913 - one for each option
    *,
    name: str,
    sql: str,
    day: str,
    every: str,
    first: datetime,
    steps: int,
    epsilon: str | None,
    rho: str | None,
    delta: str,
    shows: str,
    in_at_most: int | None,
    wait: int,
    quote: bool,
    project: Path,
    principal: str,
) -> None:
    """Declare NAME, which answers SQL for each period, and charge the whole horizon."""
    with open_project(project, principal=principal) as session:
        loss = session.sql(sql).loss(epsilon=epsilon, rho=rho, delta=delta)
        periods = Periods(day, SPANS[every], first.date(), steps)
        made = Publication(name, sql, periods, loss, _window(shows), in_at_most, wait)
        stream = made.stream(session)
        if not quote:
            Publications(session.states).declare(made, session)
        at = session.status(stream.quote.population.name).conversion_delta
        shown = show_loss(loss, at, rho_first=rho is not None)
        lines = (*policy_of(stream.quote, at), *expected_step_errors(stream.quote))
        click.echo("\n".join((*lines, f"Price: {shown}, once.")))


@publish.command("run", short_help="Release every period that is over. For cron or a timer.")
@click.argument("name", required=False)
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    default="published",
    show_default=True,
    help="The folder for Parquet files, charts and guarantees.",
)
@click.option(
    "--database",
    metavar="env:NAME",
    help="Write to PostgreSQL too, at the address in the variable NAME.",
)
@click.option(
    "--schema", default="published", show_default=True, help="The schema in that database."
)
@click.option(
    "--today", type=DAY, metavar="YYYY-MM-DD", help="Release the periods due by that day."
)
@options.project
@options.principal
def run_(  # noqa: PLR0913 - one for each option
    *,
    name: str | None,
    into: Path,
    database: str | None,
    schema: str,
    today: datetime | None,
    project: Path,
    principal: str,
) -> None:
    """Release every period that is over, of NAME or of all publications.

    Run this command by cron or a timer.
    """
    failed: list[str] = []
    with ExitStack() as closing:
        tables = None
        if database:
            postgres = load("tacit.publish.postgres", extra="postgres")
            tables = closing.enter_context(postgres.schema_of(_address(database), schema))
        session = closing.enter_context(
            open_project(project, principal=principal, tell=partial(click.echo, err=True))
        )
        day = session.ledger.today() if today is None else today.date()
        declared = Publications(session.states)
        for publication in (declared[name],) if name else declared.all():
            try:
                more = [tables(publication)] if tables else []
                for step in run(publication, session, day, into, *more):
                    click.echo(f"{publication.name}: {step.period} released")
            except (TacitError, OSError) as error:
                failed.append(publication.name)
                click.echo(f"{publication.name}: {error}", err=True)
    if failed:
        click.echo(f"Not published, or not completely: {', '.join(failed)}.", err=True)
        raise SystemExit(1)


@publish.command(short_help="End a publication.")
@click.argument("name")
@options.project
@options.principal
def withdraw(*, name: str, project: Path, principal: str) -> None:
    """End the publication NAME. Published files and the charge stay.

    This opens no engine, and works also if the tables of the publication are gone.
    """
    with project_and_ledger(project) as (_, home):
        Publications(home.states).withdraw(name, by=principal)
    click.echo(f"{name} is withdrawn by {principal}. No further period is released.")


@publish.command("list")
@options.project
@options.principal
def list_(*, project: Path, principal: str) -> None:
    """Show each publication and its progress."""
    with open_project(project, principal=principal) as session:
        declared = Publications(session.states)
        for listed in declared.listing():
            each, progress = listed.publication, "withdrawn"
            if listed.withdrawn_by:
                progress = f"withdrawn by {listed.withdrawn_by}"
            if not listed.withdrawn:
                progress = _progress(declared, each, session)
            click.echo(f"{each.name}: {progress}, {each.sql}")


def _progress(declared: Publications, each: Publication, session: Session) -> str:
    """Return the number of released periods, or that the publication has stopped."""
    try:
        done = declared.open(each.name, session).released
    except TacitError:
        return "stopped (`tacit publish run` shows the reason)"
    return f"{done} of {each.periods.horizon} {each.periods.span.value.lower()}s"


def _window(shows: str) -> Window:
    if shows in {"each", "total"}:
        return EACH if shows == "each" else ALL
    if shows.isdecimal():
        return Window(int(shows))
    raise InvalidValue(
        f"--shows must be each, total or a number of periods, and not {shows!r}."
    )


def _address(place: str) -> str:
    """Return the address in the named variable; no message repeats it."""
    keeper, _, variable = place.partition(":")
    if keeper != ENVIRONMENT or not variable.isidentifier():
        raise InvalidValue(
            "An address may contain a password, so it must be in an environment variable. For "
            "a variable REPORTS, use --database env:REPORTS."
        )
    return variable_value(variable, "--database", environ)
