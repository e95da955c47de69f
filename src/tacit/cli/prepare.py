"""`tacit prepare`: an ordered copy of a large table, from which questions are fast."""

from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tacit.cli import options
from tacit.session.prepare import Owner


@click.command()
@click.argument("dataset")
@click.option(
    "--where", help="A schema, or a .duckdb file; where the copy is, unless another is named."
)
@click.option("--parts", type=click.IntRange(1), help="Tables that are read side by side.")
@click.option("--by", help="env:VARIABLE, an address that may create tables.")
@click.option("--drop", is_flag=True, help="Drop the copy.")
@options.project
def prepare(  # noqa: PLR0913 - one for each option
    *,
    dataset: str,
    where: str | None,
    parts: int | None,
    by: str | None,
    drop: bool,
    project: Path,
) -> None:
    """Make a copy of DATASET in the order in which rows are kept, or drop it.

    Answers are the same, and sooner. Make it anew when the epoch is another.
    """
    owner = Owner(project, by)
    if drop:
        gone = "The copy is dropped" if owner.drop(dataset) else "There is no copy"
        click.echo(f"{gone}; questions read {dataset} itself.")
        return
    shown = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*shown, TimeElapsedColumn()) as bar:
        for step in owner.prepare(dataset, where, parts):
            if not bar.tasks:
                bar.add_task(f"parts of {dataset}", total=step.parts)
            bar.update(bar.tasks[0].id, completed=step.made)
    click.echo(f"Said in {project.name}; see what reads it: tacit ask SQL --explain")
