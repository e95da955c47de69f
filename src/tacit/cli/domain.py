"""`tacit domain`: what is known of a column, said by its owner or estimated and paid for."""

from datetime import date
from pathlib import Path
from typing import Any

import click

from tacit.cli import options
from tacit.cli.edit import opened, write
from tacit.errors import InvalidValue, UnknownName
from tacit.project.columns import PROVENANCES
from tacit.session.estimate import WHAT, estimate_of
from tacit.session.project import open_project


@click.command()
@click.argument("column", metavar="DATASET.COLUMN")
@click.argument("known", metavar="[LOW..HIGH|KEY,KEY,...]", required=False)
@click.option("--source", "known_from", type=click.Choice(list(PROVENANCES)))
@click.option("--estimate", type=click.Choice(WHAT), help="Ask the data, and pay for it.")
@click.option("--epsilon", help="What an estimate may cost, such as 0.2.")
@click.option("--delta", default="0", help="For an estimate of keys, such as 1e-8.")
@click.option("--yes", is_flag=True, help="Pay for an estimate without being asked.")
@options.project
@options.principal
def domain(  # noqa: PLR0913 - one for each option
    *,
    column: str,
    known: str | None,
    known_from: str | None,
    estimate: str | None,
    epsilon: str | None,
    delta: str,
    yes: bool,
    project: Path,
    principal: str,
) -> None:
    """Say what is publicly known of a column: its bounds, as 0..100, or its keys, as a,b,c.

    With --estimate they are asked of the data, privately, and charged to the budget.
    """
    dataset, _, name = column.partition(".")
    source = opened(project, "datasets", dataset)
    columns = source.root().value["datasets"][dataset].get("columns", {})
    if name not in columns:
        raise UnknownName(f"{dataset!r} has no column {name!r}; it has {', '.join(columns)}.")
    said = columns[name] if isinstance(columns[name], dict) else {"kind": columns[name]}
    said = {key: value for key, value in said.items() if key not in {"bounds", "keys"}}
    if estimate is None:
        if known is None or known_from is None:
            raise InvalidValue(
                f"Say what is known and from where, `tacit domain {column} 0..100 --source "
                f"public`, or pay for it, `tacit domain {column} --estimate bounds --epsilon "
                "0.2`."
            )
        found = _known(known, whole=said.get("kind") == "integer")
    else:
        if known is not None or known_from not in {None, "estimated"} or epsilon is None:
            raise InvalidValue(
                "An estimate is paid for and not said: leave what is known and --source out, "
                "and say --epsilon, such as 0.2."
            )
        found = {
            estimate: _paid(
                project, principal, (dataset, name, estimate), epsilon, delta, yes=yes
            )
        }
        known_from = "estimated"
    said |= found | {"provenance": known_from}
    write(project, source.changed(("datasets", dataset, "columns", name), said))


def _paid(  # noqa: PLR0913 - who pays how much for what
    project: Path,
    principal: str,
    wanted: tuple[str, str, str],
    epsilon: str,
    delta: str,
    *,
    yes: bool,
) -> list[Any]:
    """What the data says of a column: the price first, and only then the question."""
    with open_project(project, principal=principal) as session:
        estimate = estimate_of(session, *wanted)
        for note in estimate.question.quote(epsilon=epsilon, delta=delta).notes:
            click.echo(note)
        if not yes:
            click.confirm(f"Pay this for the {wanted[-1]}, as {principal}?", abort=True)
        answer = estimate.question.ask(epsilon=epsilon, delta=delta)
        click.echo(str(answer.standing))
        found = estimate.read(answer)
    click.echo(f"Estimated {wanted[-1]}: {', '.join(map(str, found))}")
    return found


def _known(text: str, *, whole: bool) -> dict[str, Any]:
    low, dots, high = text.partition("..")
    if dots:
        return {"bounds": [_end(low), _end(high)]}
    keys = text.split(",")
    return {"keys": [int(key) for key in keys] if whole else keys}


def _end(text: str) -> Any:
    """A day where it is one, and otherwise the text of a number."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return text
