"""`tacit ask`: SQL in, a table with intervals out."""

from pathlib import Path

import click

from tacit.cli import options
from tacit.cli.options import as_csv, as_json, show
from tacit.client import connect
from tacit.errors import InvalidValue
from tacit.query import SIZES
from tacit.session import open_project


@click.command()
@click.argument("sql")
@click.option("--epsilon", help="How much to spend, such as 0.2.")
@click.option("--rho", help="The same in rho.")
@click.option(
    "--delta", default="0", help="For groups whose keys are not public, such as 1e-8."
)
@click.option("--request", help="A new name pays anew for a question whose answer was lost.")
@click.option("--quote", is_flag=True, help="What it would cost and miss by; free, no data.")
@click.option("--assume-size", type=int, multiple=True, help="Rows of a group, for a quote.")
@click.option("--explain", is_flag=True, help="How it would be answered; free, no data.")
@click.option("--json", "json_", is_flag=True, help="The answer as JSON.")
@click.option("--csv", "csv_", is_flag=True, help="The answer as CSV.")
@click.option(
    "--server", envvar="TACIT_SERVER", help="A server's url; TACIT_TOKEN lets you in."
)
@options.project
@options.principal
def ask(  # noqa: PLR0913 - one for each option
    *,
    sql: str,
    epsilon: str | None,
    rho: str | None,
    delta: str,
    request: str | None,
    quote: bool,
    assume_size: tuple[int, ...],
    explain: bool,
    json_: bool,
    csv_: bool,
    server: str | None,
    project: Path,
    principal: str,
) -> None:
    """Ask a question in SQL, such as "SELECT COUNT(*) AS n FROM visits".

    The same question again is free. Who asks a server is told by their token.
    """
    if quote and (json_ or csv_):
        raise InvalidValue("A quote is shown as text: leave --json and --csv out.")
    door = connect(server) if server else open_project(project, principal=principal)
    with door as session:
        question = session.sql(sql)
        if explain:
            click.echo(question.explain())
            return
        if quote:
            preview = question.quote(
                epsilon=epsilon, rho=rho, delta=delta, assume_size=assume_size or SIZES
            )
            show(preview.columns, preview.notes, repr(preview))
            return
        answer = question.ask(epsilon=epsilon, rho=rho, delta=delta, request=request)
    if json_:
        click.echo(as_json(answer))
    elif csv_:
        click.echo(as_csv(answer), nl=False)
    else:
        show(answer.columns, answer.notes, repr(answer))
