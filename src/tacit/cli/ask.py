"""`tacit ask`: SQL in, a table with intervals out."""

from pathlib import Path

import click

from tacit.cli import options
from tacit.cli.show import as_csv, as_json, show
from tacit.errors import InvalidValue
from tacit.session.project import open_project


@click.command()
@click.argument("sql")
@click.option("--epsilon", help="How much to spend, such as 0.2.")
@click.option("--rho", help="The same in rho.")
@click.option(
    "--delta", default="0", help="For groups whose keys are not public, such as 1e-8."
)
@click.option("--request", help="A new name pays anew for a question whose answer was lost.")
@click.option("--quote", is_flag=True, help="What it would cost and miss by; free, no data.")
@click.option("--explain", is_flag=True, help="How it would be answered; free, no data.")
@click.option("--json", "json_", is_flag=True, help="The answer as JSON.")
@click.option("--csv", "csv_", is_flag=True, help="The answer as CSV.")
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
    explain: bool,
    json_: bool,
    csv_: bool,
    project: Path,
    principal: str,
) -> None:
    """Ask a question in SQL, such as "SELECT COUNT(*) AS n FROM visits".

    The same question again is free.
    """
    if quote and (json_ or csv_):
        raise InvalidValue("A quote is shown as text: leave --json and --csv out.")
    with open_project(project, principal=principal) as session:
        question = session.sql(sql)
        if explain:
            click.echo(question.explain())
            return
        if quote:
            preview = question.quote(epsilon=epsilon, rho=rho, delta=delta)
            show(preview.columns, preview.notes, repr(preview))
            return
        answer = question.ask(epsilon=epsilon, rho=rho, delta=delta, request=request)
    if json_:
        click.echo(as_json(answer))
    elif csv_:
        click.echo(as_csv(answer), nl=False)
    else:
        show(answer.columns, answer.notes, repr(answer))
