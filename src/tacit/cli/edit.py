"""`tacit protect` and `budget`: one thing said in the project file, comments kept."""

from pathlib import Path
from typing import Any

import click

from tacit.cli import options
from tacit.errors import InvalidValue, UnknownName
from tacit.project.source import Source

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


def opened(project: Path, section: str, name: str) -> Source:
    """The project file, which has ``name`` in ``section``."""
    source = Source.at(project)
    known = source.root().value.get(section, {})
    if name not in known:
        raise UnknownName(f"There is no {name!r} in {section}; there are: {', '.join(known)}.")
    return source


def write(project: Path, source: Source) -> None:
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
