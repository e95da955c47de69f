"""`tacit publish`: a question that is published every day, week or month under one charge."""

from contextlib import ExitStack
from datetime import datetime
from functools import partial
from os import environ
from pathlib import Path

import click

from tacit.cli import options
from tacit.core import rounded
from tacit.errors import InvalidValue, TacitError
from tacit.extras import load
from tacit.plan import Span
from tacit.project import ENVIRONMENT
from tacit.publish import Publication, Publications, run
from tacit.session import Session, held, open_project
from tacit.stream import ALL, EACH, Periods, Window, expected, policy_of

SPANS = {span.value.lower(): span for span in Span}
DAY = click.DateTime(formats=["%Y-%m-%d"])


@click.group()
def publish() -> None:
    """Publish the same question every day, week or month, under one charge for all of them."""


@publish.command(short_help="Declare a publication, and charge all of its periods.")
@click.argument("name")
@click.argument("sql")
@click.option("--day", required=True, help="The column of days that tells a row's period.")
@click.option(
    "--every",
    type=click.Choice(list(SPANS)),
    default="week",
    show_default=True,
    help="How long a period is.",
)
@click.option(
    "--from",
    "first",
    type=DAY,
    metavar="YYYY-MM-DD",
    required=True,
    help="A day of the first period.",
)
@click.option("--steps", type=int, required=True, help="How many periods, all in all.")
@click.option("--epsilon", help="What all of them together may lose, such as 1.")
@click.option("--rho", help="The same in rho.")
@click.option("--delta", default="0", help="For a budget in epsilon with delta.")
@click.option(
    "--shows",
    default="each",
    show_default=True,
    help="each period by itself, total so far, or a number: the last few together.",
)
@click.option(
    "--in-at-most",
    type=int,
    help="In how many periods a person counts: the first with rows of theirs. Otherwise all.",
)
@click.option("--wait", type=int, default=0, help="Days to wait for late rows.")
@click.option("--quote", is_flag=True, help="Only what it would cost and promise; free.")
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
        price = f"Price: {rounded(loss)}, once."
        click.echo("\n".join((*policy_of(stream.quote), *expected(stream.quote), price)))


@publish.command("run", short_help="Release every period that is over; for a timer.")
@click.argument("name", required=False)
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    default="published",
    show_default=True,
    help="The folder for Parquet files, charts and promises.",
)
@click.option(
    "--database",
    metavar="env:NAME",
    help="PostgreSQL as well: the variable NAME holds its address.",
)
@click.option("--schema", default="published", show_default=True, help="For tables there.")
@click.option(
    "--today", type=DAY, metavar="YYYY-MM-DD", help="Release what was due by that day."
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
    """Release every period that is over, of NAME or of all publications; for a timer."""
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
        click.echo(f"Not published, or not all of it: {', '.join(failed)}.", err=True)
        raise SystemExit(1)


@publish.command(short_help="End a publication: nothing more of it is released.")
@click.argument("name")
@options.project
@options.principal
def withdraw(*, name: str, project: Path, principal: str) -> None:
    """End the publication NAME. What was published stays, and so does its charge."""
    with open_project(project, principal=principal) as session:
        Publications(session.states).withdraw(name)
    click.echo(f"{name} is withdrawn: nothing more of it is released.")


@publish.command("list")
@options.project
@options.principal
def list_(*, project: Path, principal: str) -> None:
    """Show each publication, and how far it is."""
    with open_project(project, principal=principal) as session:
        declared = Publications(session.states)
        for listed in declared.listed():
            each, told = listed.publication, "withdrawn"
            if not listed.withdrawn:
                told = _progress(declared, each, session)
            click.echo(f"{each.name}: {told}, {each.sql}")


def _progress(declared: Publications, each: Publication, session: Session) -> str:
    """Return how far a publication is, or that it cannot go on."""
    try:
        done = declared.open(each.name, session).released
    except TacitError:
        return "stopped (`tacit publish run` says why)"
    return f"{done} of {each.periods.horizon} {each.periods.span.value.lower()}s"


def _window(shows: str) -> Window:
    if shows in {"each", "total"}:
        return EACH if shows == "each" else ALL
    if shows.isdecimal():
        return Window(int(shows))
    raise InvalidValue(f"--shows takes each, total or a number of periods, not {shows!r}.")


def _address(place: str) -> str:
    """What the named variable holds; it is in no text of ours."""
    keeper, _, variable = place.partition(":")
    if keeper != ENVIRONMENT or not variable.isidentifier():
        raise InvalidValue(
            "An address may hold a password, so it is named and not written: "
            "--database env:REPORTS, for a variable REPORTS that holds one."
        )
    return held(variable, "--database", environ)
