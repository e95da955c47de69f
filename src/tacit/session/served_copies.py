"""The validated copies from which a served project is answered; missing copies are made.

A server, a publication and a stream answer only from validated copies of the declared epoch.
If the project file names no copy of a DuckDB or Parquet table, or an outdated one, a copy is
made here, before the first question, by the owner who starts the server.

The copy is a file in the ledger's folder. The file's name contains the copy's mark, so that
another declaration, epoch or ledger has another file. A file is written under a temporary name
and renamed when it is complete, and it is never changed afterwards, so that several servers can
read it at the same time. The day on which it was made is stored in the file itself, because
the modification time changes when the folder is copied or restored. During an epoch that has
not ended, the file is replaced at the first start on each day; running servers continue to
read the old file. Files of earlier copies of the same table are removed.

PostgreSQL and Spark are read by a role that cannot write, so the error names the command that
makes the copy.
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
"""The folder of automatic copies, inside the ledger's folder."""

Tell = Callable[[str], None]
"""A function that shows the owner what is being done."""


def silent(_: str) -> None:
    """Show nothing: the default where no progress is shown."""


def with_copies(project: Project, file: Path, states: States, tell: Tell) -> Project:
    """Return the project with a copy of each table that is not declared in place.

    Guarantee: each copy has the current unit, link, epoch, declaration and ledger.
    """
    found = [_with_copy(project, table, file, states, tell) for table in project.catalog.tables]
    catalog = project.catalog.with_tables(*found)
    return replace(project, catalog=catalog, outdated={})


def _with_copy(
    project: Project,
    table: Dataset | PublicTable,
    file: Path,
    states: States,
    tell: Tell,
) -> Dataset | PublicTable:
    """Return the table with its copy; make the copy if there is none."""
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
    place = CopyPlace("", PARTS if _has_order(table) else 1)
    wanted = project.copy_plan(table.name, place)
    stem = _stem(file, table.name)
    name = f"{stem}-{wanted.final_place(order).mark}.duckdb"
    copied = replace(wanted, place=replace(place, where=f"{FOLDER}/{COPIES}/{name}"))
    made = copied.copy_by(order)
    if not _complete(_day_made(folder / name, made), table.epoch.label):
        # the day on which copying starts: rows that arrive later may be missing in the copy
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
                with suppress(OSError):  # some systems do not remove open files
                    old.unlink()
    return replace(table, copy=replace(made, made=_day_made(folder / name, made)))


def remove_copies(file: Path, name: str) -> None:
    """Remove the automatic copies of a table; a server makes a new one when it needs it."""
    for old in (file.parent / FOLDER / COPIES).glob(f"{_stem(file, name)}-*.duckdb"):
        with suppress(OSError):  # some systems do not remove open files
            old.unlink()


def _complete(made: date | None, label: str) -> bool:
    """Return whether a copy was ``made`` late enough for its epoch; without a day it was not.

    An epoch that is named by a period, such as 2026, lasts as long as that period, and its
    table gets new rows until then. So its copy is made again on each day up to its end. A
    publication that read an older copy would permanently miss the rows that came later.
    """
    if made is None:
        return False
    until = covered_until(label)
    return until is None or made >= min(until, date.today())  # noqa: DTZ011 - as above


def _day_made(file: Path, copy: ValidatedCopy) -> date | None:
    """Return the day on which copying started, from the record in the copy's file."""
    return day_in(read_copy_facts(str(file), copy.record[1:])) if file.exists() else None


def _has_order(table: Dataset | PublicTable) -> bool:
    return isinstance(table, Dataset) and keeps_order(table)


def _stem(file: Path, name: str) -> str:
    """Return the start of the file names of a table's copies; it depends on the project."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)[:40]
    digest = sha256(f"{file.name} {name}".encode()).hexdigest()
    return f"{plain}-{digest[:8]}"


def _command(project: Project, table: Dataset | PublicTable, spec: EngineSpec) -> str:
    """Return the message with the command by which an owner makes a missing copy."""
    name = table.name
    why = project.outdated.get(name, f"{name!r} has no validated copy")
    why = why.partition(";")[0]
    if spec.copies is None:
        return f"{why}, and no copy can be made in an engine of kind {spec.kind}."
    by = spec.copies.written_by
    command = f"{why}. A server needs a copy. Run: tacit prepare {name} --where copies{by}"
    if spec.address.in_place and isinstance(table, Dataset):
        command += "; or declare in_place = true, which every guarantee then states"
    return command
