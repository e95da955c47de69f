"""The copies that a served project is answered from: found, or made where they are missing.

A server, a publication and a stream answer from validated copies of the declared epoch alone.
Where the project file speaks of no copy of a table, or of an outdated one, a copy of a DuckDB
or Parquet table is made here, before the first question, by the owner who starts the server.
It lies in a file of its own in the ledger's folder, whose name holds the copy's mark, so that
a file of another declaration, epoch or ledger is another file. A file is written under another
name and renamed once it is whole, and no file is ever changed: servers that run at the same
time read the same one. On which day it was made stands in the file itself: the time of a file
is another once its folder was copied or restored. While its epoch goes on, a file is replaced
on the first start of a day, and servers that run read on in the one before. Files of the same
table's earlier copies are removed.

PostgreSQL and Spark are read by a role that cannot write: there the refusal says the command.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import date
from hashlib import sha256
from os import getpid
from pathlib import Path

from tacit.core import Dataset, PublicTable, ValidatedCopy, keeps_order
from tacit.engines import EngineSpec
from tacit.engines.duckdb_files import read_copy_facts
from tacit.errors import CopyMissing
from tacit.project import MADE, PARTS, CopyPlace, Project, day_in
from tacit.session.curator import FOLDER, mark_of, private_folder, salt_of_table
from tacit.session.engines import spec_of
from tacit.session.prepare import preparation, writing
from tacit.store import States
from tacit.stream import covered_until

COPIES = "copies"
"""The folder of copies that are made by themselves, in that of the ledger."""

Tell = Callable[[str], None]
"""Says to the owner what is being done."""


def silent(_: str) -> None:
    """Say nothing."""


def with_copies(project: Project, file: Path, states: States, tell: Tell) -> Project:
    """The project in ``file``, each of whose tables has a copy or is declared in place.

    Guarantee: a copy is of the unit, link, epoch, declaration and ledger of now.
    """
    found = [_copied(project, table, file, states, tell) for table in project.catalog.tables]
    catalog = project.catalog.with_tables(*found)
    return replace(project, catalog=catalog, outdated={})


def _copied(
    project: Project,
    table: Dataset | PublicTable,
    file: Path,
    states: States,
    tell: Tell,
) -> Dataset | PublicTable:
    """The table with its copy, which is made where there is none."""
    salt = salt_of_table(states, table)
    order = mark_of(salt)
    if table.copy is not None and table.copy.order == order:
        return table
    if isinstance(table, Dataset) and table.in_place:
        return table
    spec = spec_of(project, project.engine_of(table.name))
    if spec.copies is None or not spec.copies.made_by_server:
        raise CopyMissing(_command(project, table, spec))
    folder = private_folder(file.parent / FOLDER / COPIES)
    place = CopyPlace("", PARTS if _ordered(table) else 1)
    wanted = project.copied(table.name, place)
    stem = _stem(file, table.name)
    name = f"{stem}-{wanted.made(order).mark}.duckdb"
    copied = replace(wanted, place=replace(place, where=f"{FOLDER}/{COPIES}/{name}"))
    made = copied.copy_by(order)
    if not _complete(_made(folder / name, made), table.epoch.label):
        # the day on which it begins: rows that come meanwhile may not be in it
        today = date.today()  # noqa: DTZ011 - this machine's day
        tell(f"Preparing a validated copy of {table.name} ...")
        making = preparation(copied, order, f"{MADE}{today}", plugins=project.plugins)
        unfinished = folder / f".{name}.{getpid()}"
        try:
            unwritten = str(unfinished.absolute())
            with writing(copied, file.parent, unwritten, spec, {}) as run:
                for _ in making.steps(salt, run):
                    pass
            unfinished.replace(folder / name)
        finally:
            unfinished.unlink(missing_ok=True)
        for old in folder.glob(f"{stem}-*.duckdb"):
            if old.name != name:
                with suppress(OSError):  # where a system keeps files that are open
                    old.unlink()
    return replace(table, copy=replace(made, made=_made(folder / name, made)))


def _complete(made: date | None, label: str) -> bool:
    """Whether a copy was ``made`` late enough for its epoch; one without a day was not.

    An epoch that is named by a time, such as 2026, goes on while that time does, and so do the
    rows of its table. A copy of it is made anew on each day up to its end: a publication that
    read an older one would say for ever that nobody came.
    """
    if made is None:
        return False
    until = covered_until(label)
    return until is None or made >= min(until, date.today())  # noqa: DTZ011 - as above


def _made(file: Path, copy: ValidatedCopy) -> date | None:
    """The day on which the making of a copy began, as it is written beside the copy."""
    return day_in(read_copy_facts(str(file), copy.record[1:])) if file.exists() else None


def _ordered(table: Dataset | PublicTable) -> bool:
    return isinstance(table, Dataset) and keeps_order(table)


def _stem(file: Path, name: str) -> str:
    """What the files of a table's copies begin with; another project file has others."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)[:40]
    told_apart = sha256(f"{file.name} {name}".encode()).hexdigest()
    return f"{plain}-{told_apart[:8]}"


def _command(project: Project, table: Dataset | PublicTable, spec: EngineSpec) -> str:
    """What an owner types where a copy is missing that only they can make."""
    name = table.name
    why = project.outdated.get(name, f"{name!r} has no validated copy")
    why = why.partition(";")[0]
    if spec.copies is None:
        return f"{why}, and none can be made in an engine of kind {spec.kind}."
    by = spec.copies.written_by
    told = f"{why}, and is served from one: tacit prepare {name} --where copies{by}"
    if spec.address.in_place and isinstance(table, Dataset):
        told += "; or declare in_place = true, which every guarantee then says"
    return told
