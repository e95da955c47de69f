"""What is to be copied, where to, and by whom: from the project file and the owner's words."""

from collections.abc import Mapping
from dataclasses import replace

from tacit.core.dataset import Dataset, keeps_order
from tacit.engines.prepare import Preparation
from tacit.errors import InvalidValue, UnknownName
from tacit.project.copies import PARTS, Copied, CopyPlace
from tacit.project.engines import without_secret, without_token
from tacit.project.entry import Entry, Fault
from tacit.project.project import Project
from tacit.project.secret import ENVIRONMENT
from tacit.session.secret import held

USUAL = {"duckdb": "copies.duckdb", "parquet": "copies.duckdb"}
"""Where a copy lies unless its owner says another place; else in a schema of this name."""

SCHEMA = "copies"


def to_copy(
    project: Project, name: str, where: str | None = None, parts: int | None = None
) -> Copied:
    """The table ``name`` of a project, and where its copy shall lie.

    That is where the owner says now, or where the file says, or the usual place.
    """
    known = [table.name for table in project.catalog.tables]
    if name not in known:
        raise UnknownName(f"There is no table {name!r}; there are: {', '.join(known)}.")
    before, kind = project.places.get(name), project.engine_of(name).kind
    table = project.catalog.table(name)
    if kind == "spark" and parts not in {None, 1}:
        raise InvalidValue("A copy on Spark is one table, whose buckets are its parts.")
    ordered = isinstance(table, Dataset) and keeps_order(table)
    usual = PARTS if ordered and kind != "spark" else 1
    place = before or CopyPlace(USUAL.get(kind, SCHEMA), usual)
    place = replace(place, where=where or place.where, parts=parts or place.parts)
    if kind != "duckdb" and (place.file is None) != (kind in {"postgres", "spark"}):
        ways = {
            "parquet": "copies.duckdb, a file of its own",
            "postgres": "copies, a schema of the same database",
            "spark": "copies, a database of its catalogue",
        }
        raise InvalidValue(
            f"Say where the copy of {name!r} shall lie, by --where: {ways[kind]}."
        )
    return project.copied(name, place)


def preparation(copied: Copied, order: str, *notes: str) -> Preparation:
    """How a copy is made by the ledger whose salt has the mark ``order``.

    The ``notes`` on its making are written beside it.
    """
    kind, made = copied.engine.kind, copied.made(order)
    dialect = kind if kind in {"postgres", "spark"} else "duckdb"
    return Preparation(
        copied.table,
        made.path,
        dialect,
        copied.parts,
        made.mark,
        copied.facts(order),
        made.text_bytes,
        copied.linked,
        notes,
    )


def made_before(copied: Copied) -> Preparation:
    """The same of the copy that the project file speaks of, whatever it was made by."""
    kind, place = copied.engine.kind, copied.place
    dialect = kind if kind in {"postgres", "spark"} else "duckdb"
    return Preparation(copied.table, place.path, dialect, copied.parts, place.mark)


def owner_address(
    said: str | None, environment: Mapping[str, str], *, spark: bool = False
) -> str:
    """The address of whoever may create tables: from a variable, or without a password."""
    if said is None:
        raise InvalidValue(
            "Tacit's own role only reads. Name an address that may create tables, by --by: "
            "env:VARIABLE, which holds it, or postgresql://owner@host/database."
        )
    keeper, _, variable = said.partition(":")
    if keeper == ENVIRONMENT:
        return held(variable, "--by", environment)
    try:
        (without_token if spark else without_secret)(Entry(said, ("--by",)))
    except Fault as fault:
        told = InvalidValue(f"{fault.message} For --by: env:VARIABLE holds the whole address.")
    else:
        return said
    raise told
