"""`tacit init`: a project file from a schema; no row is read."""

from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tacit.cli import options
from tacit.engines.postgres_role import reader_of
from tacit.engines.registry import (
    DUCKDB_SPEC,
    NO_PLUGINS,
    POSTGRES_SPEC,
    address_rule,
    spec_for,
)
from tacit.errors import InvalidValue, TacitError
from tacit.project import AddressRule, EngineAddress, Fault, TomlEntry, draft, engine_of
from tacit.session import Owner, apply_project, missing_in, open_project, opened, proposed_in

ENGINE = "warehouse"
USUAL_FILE, USUAL_SERVER = DUCKDB_SPEC.kind, POSTGRES_SPEC.kind


@click.command()
@click.argument("source")
@click.option("--population", default="people", show_default=True, help="Who is protected.")
@click.option(
    "--password", help="Where the password is kept: env:VARIABLE or keyring:service/name."
)
@options.project
@options.principal
def init(
    *, source: str, population: str, password: str | None, project: Path, principal: str
) -> None:
    """Write a commented project file for the tables of SOURCE, by their names and types.

    SOURCE is a .duckdb or .parquet file, postgresql://role@host/database, or sc://host:15002 or
    spark://host:7077 of a Spark.
    """
    if project.exists():
        raise InvalidValue(
            f"{project} is there already; move it, or name another by --project."
        )
    address, rule = _address(source, password)
    engine = opened(address, [Path(source).stem], project.parent, columns=())
    try:
        found = [(table, engine.columns(table)) for table in engine.tables()]
    finally:
        engine.close()
    project.write_text(draft(address, rule, population, principal, found), encoding="utf-8")
    click.echo(
        f"Wrote {project}: {len(found)} tables, and no row was read.\n"
        f"Next: tacit budget {population} --epsilon 3 --delta 1e-6\n"
        "      tacit protect TABLE --unit COLUMN --max-groups 1 --max-rows 10\n"
        "      tacit apply"
    )


def _address(source: str, password: str | None) -> tuple[EngineAddress, AddressRule]:
    spec = spec_for(source)
    # a path without a known ending may still be a database, and an address a server's
    kind = spec.kind if spec is not None else USUAL_SERVER if "://" in source else USUAL_FILE
    said = {"kind": kind, ("address" if "://" in source else "path"): source}
    if password is not None:
        said["password"] = password
    try:
        return engine_of(TomlEntry(said, ("engines", ENGINE)), address_rule, NO_PLUGINS)
    except Fault as fault:
        told = fault.message
    raise InvalidValue(told)


# ------------------------------------------------------------------ apply
# `tacit apply`: what the project file says, as acts of an owner in the ledger.


@click.command()
@options.project
@options.principal
@click.option("--yes", is_flag=True, help="Record it without being asked.")
def apply(*, project: Path, principal: str, yes: bool) -> None:
    """Show what the ledger does not hold yet, and record it."""
    missing = proposed_in(project)
    for change in missing:
        click.echo(str(change))
    if not missing:
        click.echo(f"The ledger holds all that {project.name} says.")
        return
    if all(change.waits for change in missing):
        click.echo("Another owner approves: tacit ledger approve POPULATION PROPOSAL")
        return
    if not yes:
        click.confirm(f"Record this in the ledger, as {principal}?", abort=True)
    recorded = apply_project(project, by=principal)
    click.echo(f"Recorded by {principal}.")
    waiting = {each.population for each in missing} - {each.population for each in recorded}
    if waiting:
        click.echo(f"Not recorded, since others own it: {', '.join(sorted(waiting))}.")
    if missing_in(project):
        return  # other owners have yet to act
    try:
        open_project(project, principal=principal).close()
    except TacitError as error:
        click.echo(f"Questions are refused until this is mended:\n{error}")


# ------------------------------------------------------------------ prepare
# `tacit prepare`: a validated copy of a table, from which questions cannot fail.


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


# ------------------------------------------------------------------ reader
# `tacit reader`: the role of PostgreSQL that Tacit reads by.


@click.command()
@click.argument("role")
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
def reader(*, role: str, tables: tuple[str, ...]) -> None:
    """Print the SQL by which a superuser makes ROLE, which reads TABLEs and is not logged.

    Such as: tacit reader tacit patients clinic.visits | psql clinic
    """
    for statement in reader_of(role, [tuple(table.split(".")) for table in tables]):
        click.echo(f"{statement};")
