"""`tacit protect` and `budget`: one thing said in the project file, comments kept."""

from datetime import date
from pathlib import Path
from typing import Any

import click

from tacit.cli import options
from tacit.errors import InvalidValue, UnknownName
from tacit.project import PROVENANCES, ProjectText
from tacit.session import WHAT, estimate_of, open_project

NEXT = "Said in {}; record it: tacit apply"


@click.command()
@click.argument("dataset")
@click.option("--unit", help="The column that names the person.")
@click.option("--link", help="COLUMN=TABLE.COLUMN, which leads to a table nearer the person.")
@click.option("--unique", is_flag=True, help="The database itself keeps that column unique.")
@click.option("--max-groups", type=int, required=True, help="Groups that one person counts in.")
@click.option("--max-rows", type=int, required=True, help="Rows of theirs that count in each.")
@click.option("--max-rows-in-all", type=int, help="Rows of theirs that are looked at in all.")
@click.option("--row-key", help="The column that tells their rows apart.")
@click.option("--one-row", is_flag=True, help="Each person has one row.")
@options.project
def protect(  # noqa: PLR0913 - one for each option
    *,
    dataset: str,
    unit: str | None,
    link: str | None,
    unique: bool,
    max_groups: int,
    max_rows: int,
    max_rows_in_all: int | None,
    row_key: str | None,
    one_row: bool,
    project: Path,
) -> None:
    """Say whose a row of DATASET is, and how much of one person may count."""
    if (unit is None) == (link is None):
        raise InvalidValue("Say whose a row is in one way: --unit, or --link.")
    source, place = opened(project, "datasets", dataset), ("datasets", dataset)
    source = source.without((*place, "unit")).without((*place, "link"))
    if unit is not None:
        source = source.changed((*place, "unit"), unit)
    else:
        source = source.changed((*place, "link"), _link(link or "", unique=unique))
    source = source.changed((*place, "max_groups"), max_groups)
    source = source.changed((*place, "max_rows"), max_rows)
    more = {"max_rows_in_all": max_rows_in_all, "row_key": row_key, "one_row": one_row or None}
    for name, said in more.items():
        source = source if said is None else source.changed((*place, name), said)
    write(project, source)


@click.command()
@click.argument("population")
@click.option("--epsilon", required=True, help="Of everything that is ever released.")
@click.option("--delta", help="Its delta; without one, epsilon is pure.")
@click.option("--quota", multiple=True, metavar="WHO=EPSILON", help="What one may spend of it.")
@options.project
def budget(
    *, population: str, epsilon: str, delta: str | None, quota: tuple[str, ...], project: Path
) -> None:
    """Say what everything that is ever released about POPULATION may lose."""
    source, place = opened(project, "populations", population), ("populations", population)
    said: dict[str, Any] = {"epsilon": epsilon} | ({} if delta is None else {"delta": delta})
    before = source.root().part("populations").part(population).value.get("budget")
    if isinstance(before, dict) and "least" in before:
        said["least"] = before["least"]  # a share of the budget, which stays what it was
    source = source.changed((*place, "budget"), said)
    for each in quota:
        who, _, amount = each.partition("=")
        source = source.changed((*place, "quotas", who), {"epsilon": amount})
    write(project, source)


def opened(project: Path, section: str, name: str) -> ProjectText:
    """The project file, which has ``name`` in ``section``."""
    source = ProjectText.at(project)
    known = source.root().value.get(section, {})
    if name not in known:
        raise UnknownName(f"There is no {name!r} in {section}; there are: {', '.join(known)}.")
    return source


def write(project: Path, source: ProjectText) -> None:
    """Write the file anew, and tell the next step."""
    source.save(project)
    click.echo(NEXT.format(project.name))


def _link(text: str, *, unique: bool) -> dict[str, Any]:
    column, _, parent = text.partition("=")
    table, _, above = parent.partition(".")
    said = {"column": column, "parent": table, "parent_column": above}
    if not all(said.values()):
        raise InvalidValue("A link is COLUMN=TABLE.COLUMN, such as patient=patients.id.")
    return said | ({"unique_by_constraint": True} if unique else {})


# ------------------------------------------------------------------ domain
# `tacit domain`: what is known of a column, said by its owner or estimated and paid for.


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
