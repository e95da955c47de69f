"""`tacit init`, `apply`, `prepare` and `reader`: set up a project.

`init` writes a project file from a schema, `apply` records it in the ledger, `prepare` makes
the validated copies that are served, and `reader` prints the SQL for a PostgreSQL role.
"""

from collections.abc import Sequence
from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tacit.cli import options
from tacit.engines import unused_columns
from tacit.engines.postgres_role import reader_of
from tacit.engines.registry import (
    DUCKDB_SPEC,
    NO_PLUGINS,
    POSTGRES_SPEC,
    address_rule,
    spec_for,
)
from tacit.errors import InvalidValue, TacitError
from tacit.ledger import ActSigner
from tacit.project import AddressRule, EngineAddress, Fault, TomlEntry, draft, engine_of
from tacit.render import spell
from tacit.session import (
    Change,
    Owner,
    apply_project,
    datasets_without_profile,
    open_engine,
    open_project,
    planned_changes,
    unrecorded_changes,
)

ENGINE = "warehouse"
USUAL_FILE, USUAL_SERVER = DUCKDB_SPEC.kind, POSTGRES_SPEC.kind


@click.command()
@click.argument("source")
@click.option(
    "--population",
    default="people",
    show_default=True,
    help="The name of the protected population.",
)
@click.option(
    "--password", help="Where the password is stored: env:VARIABLE or keyring:service/name."
)
@options.project
@options.principal
def init(
    *, source: str, population: str, password: str | None, project: Path, principal: str
) -> None:
    """Write a commented project file for the tables of SOURCE. No row is read.

    SOURCE is a .duckdb or .parquet file, postgresql://role@host/database, or a Spark server at
    sc://host:15002 or spark://host:7077.
    """
    if project.exists():
        raise InvalidValue(
            f"{project} already exists. Move it, or name another file by --project."
        )
    address, rule = _address(source, password)
    engine = open_engine(address, [Path(source).stem], project.parent, columns=())
    try:
        found = [
            (table, engine.columns(table), unused_columns(engine, table))
            for table in engine.tables()
        ]
    finally:
        engine.close()
    project.write_text(draft(address, rule, population, principal, found), encoding="utf-8")
    left_out = sum(len(unused) for *_, unused in found)
    if left_out:
        click.echo(
            f"{_count(left_out, 'column')} cannot be used in questions because of their types. "
            f"{project} lists them in comments."
        )
    click.echo(
        f"Wrote {project} with {_count(len(found), 'table')}. No row was read.\n"
        f"Next: tacit budget {population} --epsilon 3 --delta 1e-6\n"
        "      tacit protect TABLE --unit COLUMN --max-groups 1 --max-rows 10\n"
        "      tacit apply\n"
        "      tacit limits TABLE --estimate, which measures the limit of rows that fits"
    )
    if rule.fixed_plans:
        click.echo(
            "Before `tacit serve`, declare the most rows of a person that are read: tacit "
            "protect TABLE\nwith --row-key and --max-rows-in-all, or with --most-rows; and run "
            "`tacit calibrate`."
        )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _address(source: str, password: str | None) -> tuple[EngineAddress, AddressRule]:
    spec = spec_for(source)
    # a path without a known suffix may still be a database, and a url may be a server
    kind = spec.kind if spec is not None else USUAL_SERVER if "://" in source else USUAL_FILE
    entry = {"kind": kind, ("address" if "://" in source else "path"): source}
    if password is not None:
        entry["password"] = password
    try:
        return engine_of(TomlEntry(entry, ("engines", ENGINE)), address_rule, NO_PLUGINS)
    except Fault as fault:
        message = fault.message
    raise InvalidValue(message)


# ------------------------------------------------------------------ apply


@click.command()
@options.project
@options.principal
@options.signer
@click.option("--reason", help="The reason to raise or lower a cap, which the ledger keeps.")
@click.option("--yes", is_flag=True, help="Record the changes without confirmation.")
def apply(
    *,
    project: Path,
    principal: str,
    signer: ActSigner | None,
    reason: str | None,
    yes: bool,
) -> None:
    """Show the changes that are not yet in the ledger, and record them.

    If a cap is raised, a reason is needed: give it by --reason, or when you are asked.
    """
    missing = planned_changes(project)
    for change in missing:
        click.echo(str(change))
    if not missing:
        click.echo(f"The ledger is up to date with {project.name}.")
        return
    if all(change.waits for change in missing):
        return  # each of them is shown with its next step
    if not yes:
        if reason is None and any(change.raises_cap for change in missing):
            reason = click.prompt("Why is the cap raised? The ledger keeps the reason")
        click.confirm(f"Record this in the ledger, as {principal}?", abort=True)
    if _record(project, principal, signer, missing, reason or ""):
        return  # other owners have not acted yet
    for name in datasets_without_profile(project):
        click.echo(
            f"The limits of {name} were not measured for its present data, so that intervals "
            f"are open where rows are cut. See `tacit limits {name}`."
        )
    try:
        open_project(project, principal=principal).close()
    except TacitError as error:
        click.echo(f"Questions are refused until this is fixed:\n{error}")


def _record(
    project: Path,
    principal: str,
    signer: ActSigner | None,
    missing: Sequence[Change],
    reason: str,
) -> tuple[Change, ...]:
    """Record what ``principal`` may record, say what was done, and return what is left."""
    before = {change.text for change in missing if change.waits}
    recorded = apply_project(project, by=principal, reason=reason, signer=signer)
    left = unrecorded_changes(project)
    proposed = [change for change in left if change.waits]
    # a proposal is not in effect yet, and is shown as such below
    if len(recorded) > sum(change.text not in before for change in proposed):
        click.echo(f"Recorded by {principal}.")
    others = {each.population for each in missing} - {each.population for each in recorded}
    if others:
        click.echo(f"Not recorded, because others own it: {', '.join(sorted(others))}.")
    for change in proposed:
        click.echo(str(change))
    return left


# ------------------------------------------------------------------ prepare
# A prepared copy is validated, so that a question about it cannot fail because of a value.


@click.command()
@click.argument("datasets", metavar="DATASET...", nargs=-1, required=True)
@click.option(
    "--where",
    help="The schema or .duckdb file for the copy. Default: where the last copy is.",
)
@click.option(
    "--parts", type=click.IntRange(1), help="Number of tables that are read in parallel."
)
@click.option("--by", help="env:VARIABLE with the address of a role that may create tables.")
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
    """Make a validated copy of each DATASET, which is then served, or drop the copy.

    Run it again when the epoch or the declaration has changed. With a row key and
    max_rows_in_all the copy is sorted, and questions are answered faster.
    """
    owner = Owner(project, by)
    if drop:
        for dataset in datasets:
            gone = "The copy is dropped" if owner.drop(dataset) else "There is no copy"
            click.echo(
                f"{gone}. Your own sessions read the table {dataset} itself. A server answers "
                "from a copy only, unless in_place is declared."
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
                f"The copy of {dataset} leaves out {spell(step.left_out, 'row')}: rows "
                "without a unit and, if one_row is declared, all but one row of each unit and "
                "rows with the same linked key as a row of another unit. Check that unit and "
                "one_row are right."
            )
        if step.left:
            named = ", ".join(".".join(table) for table in step.left)
            click.echo(
                f"The new copy of {dataset} is in use. The old copy could not be dropped, and "
                f"is no longer read. Its owner should drop: {named}"
            )
    click.echo(
        f"Saved to {project.name}. Run `tacit ask SQL --explain` to see whether a question "
        "reads the copy."
    )


# ------------------------------------------------------------------ reader


@click.command()
@click.argument("role")
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
def reader(*, role: str, tables: tuple[str, ...]) -> None:
    """Print SQL that creates ROLE, which may read the TABLEs and whose queries are not logged.

    A superuser must run the SQL, for example with

    tacit reader tacit patients clinic.visits | psql clinic
    """
    for statement in reader_of(role, [tuple(table.split(".")) for table in tables]):
        click.echo(f"{statement};")
