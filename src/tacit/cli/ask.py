"""`tacit ask`: answer a question in SQL with a table and its confidence intervals."""

from pathlib import Path

import click

from tacit.cli import options
from tacit.cli.options import as_csv, as_json, show
from tacit.client import connect
from tacit.errors import InvalidValue
from tacit.session import open_project


@click.command()
@click.argument("sql")
@click.option("--epsilon", help="Privacy loss to spend, such as 0.2.")
@click.option("--rho", help="Privacy loss to spend, in rho instead of epsilon.")
@click.option(
    "--delta", default="0", help="Delta, for groups whose keys are not public, such as 1e-10."
)
@click.option(
    "--request",
    help="Idempotency key. A new one is charged again for a question whose answer was lost.",
)
@click.option(
    "--quote", is_flag=True, help="Show the price and the expected error. Free; reads no data."
)
@click.option(
    "--within",
    help="The margin of error to stay within, such as 25, or 2% of --assume-size rows.",
)
@click.option(
    "--assume-size",
    type=int,
    multiple=True,
    help="Rows in a group for which --quote shows errors, and of which --within is a share.",
)
@click.option(
    "--explain", is_flag=True, help="Show how it would be answered. Free; reads no data."
)
@click.option("--round", "step", help="Round noisy values to multiples of a number, such as 5.")
@click.option("--json", "json_", is_flag=True, help="Print the answer as JSON.")
@click.option("--csv", "csv_", is_flag=True, help="Print the answer as CSV.")
@options.server
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
    within: str | None,
    assume_size: tuple[int, ...],
    explain: bool,
    step: str | None,
    json_: bool,
    csv_: bool,
    server: str | None,
    project: Path,
    principal: str,
) -> None:
    """Ask a question in SQL, such as "SELECT COUNT(*) AS n FROM visits".

    The same question again is free. A server identifies you by your token.
    """
    if quote and (json_ or csv_):
        raise InvalidValue("A quote is shown as text only. Leave --json and --csv out.")
    opening = connect(server) if server else open_project(project, principal=principal)
    with opening as session:
        question = session.sql(sql)
        if explain:
            click.echo(question.explain())
            return
        if quote:
            preview = question.quote(
                epsilon=epsilon,
                rho=rho,
                delta=delta,
                within=within,
                assume_size=assume_size or None,
            )
            show(preview.columns, preview.notes, repr(preview))
            return
        answer = question.ask(
            epsilon=epsilon,
            rho=rho,
            delta=delta,
            within=within,
            assume_size=assume_size or None,
            request=request,
        )
    answer = answer if step is None else answer.round_to(step)
    if json_:
        click.echo(as_json(answer))
    elif csv_:
        click.echo(as_csv(answer), nl=False)
    else:
        show(answer.columns, answer.notes, repr(answer))
