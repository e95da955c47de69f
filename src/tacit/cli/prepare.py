"""`tacit prepare`: a validated copy of a table, from which questions cannot fail."""

from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tacit.cli import options
from tacit.session.prepare import Owner


@click.command()
@click.argument("datasets", metavar="DATASET...", nargs=-1, required=True)
@click.option(
    "--where", help="A schema, or a .duckdb file; where the copy is, unless another is named."
)
@click.option("--parts", type=click.IntRange(1), help="Tables that are read side by side.")
@click.option("--by", help="env:VARIABLE, an address that may create tables.")
@click.option("--drop", is_flag=True, help="Drop the copy.")
@options.project
def prepare(  # noqa: PLR0913 - one for each option
    *,
    datasets: tuple[str, ...],
    where: str | None,
    parts: int | None,
    by: str | None,
    drop: bool,
    project: Path,
) -> None:
    """Make a validated copy of each DATASET, from which it is served, or drop it.

    Make it anew when the epoch or the declaration is another. With a row key and
    max_rows_in_all the copy is ordered, and questions are answered sooner.
    """
    owner = Owner(project, by)
    if drop:
        for dataset in datasets:
            gone = "The copy is dropped" if owner.drop(dataset) else "There is no copy"
            click.echo(
                f"{gone}. A session of yours reads {dataset} itself; a server answers from a "
                "copy, unless in_place is declared."
            )
        return
    shown = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    last = {}
    with Progress(*shown, TimeElapsedColumn()) as bar:
        for dataset in datasets:
            task = None
            for step in owner.prepare(dataset, where, parts):
                if task is None:
                    task = bar.add_task(f"parts of {dataset}", total=step.parts)
                bar.update(task, completed=step.made)
                last[dataset] = step
    for dataset, step in last.items():
        if step.left_out:
            click.echo(
                f"The copy of {dataset} leaves out {step.left_out} rows: those that name no "
                "unit and, where one_row is declared, all but one row of each unit and rows "
                "whose linked key another unit's row holds. Are unit and one_row right?"
            )
        if step.left:
            named = ", ".join(".".join(table) for table in step.left)
            click.echo(
                f"The new copy of {dataset} is in use. The one before could not be dropped, "
                f"and nothing reads it; whoever made it should drop: {named}"
            )
    click.echo(f"Said in {project.name}; see what reads it: tacit ask SQL --explain")
