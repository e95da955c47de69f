"""`tacit init`: a project file from a schema; no row is read."""

from pathlib import Path

import click

from tacit.cli import options
from tacit.engines.built_in import DUCKDB_SPEC, POSTGRES_SPEC
from tacit.engines.registry import NO_PLUGINS, address_rule, spec_for
from tacit.errors import InvalidValue
from tacit.project.address import AddressRule
from tacit.project.draft import draft
from tacit.project.engines import EngineAddress, engine_of
from tacit.project.entry import Entry, Fault
from tacit.session.engines import opened

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
        return engine_of(Entry(said, ("engines", ENGINE)), address_rule, NO_PLUGINS)
    except Fault as fault:
        told = fault.message
    raise InvalidValue(told)
