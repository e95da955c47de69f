"""Open a project: all tables of the project file, where the ledger holds what it says."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from getpass import getuser
from pathlib import Path

from tacit.engines.duckdb import open_duckdb
from tacit.engines.duckdb_source import open_parquet
from tacit.engines.engine import CheckedEngine
from tacit.errors import InvalidValue
from tacit.extras import load
from tacit.project.engines import EngineAddress
from tacit.project.project import FILE, Project, read_project
from tacit.session.address import with_password
from tacit.session.changes import Change, changes
from tacit.session.curator import Curator
from tacit.session.home import FOLDER, Home
from tacit.session.session import Session


def open_project(
    path: str | Path = FILE,
    *,
    principal: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Session:
    """A session over all tables of the project file at ``path``; its ledger is beside it.

    Guarantee: no session where the ledger does not hold what the file says.
    """
    return Session(curator_of(Path(path), principal or getuser(), environment))


def curator_of(file: Path, principal: str, environment: Mapping[str, str]) -> Curator:
    """What a session over a project needs, where the ledger holds what its file says."""
    project = read_project(file)
    with ExitStack() as closing:
        home = Home.of(project, file.parent / FOLDER, environment)
        closing.callback(home.store.close)
        missing = changes(project, home.ledger)
        if missing:
            told = "\n".join(map(str, missing))
            raise InvalidValue(
                f"{file.name} differs from what the ledger holds; `tacit apply` records it:\n"
                f"{told}"
            )
        engines = {}
        for address in project.engines:
            here = [t for t in project.catalog.tables if t.location.engine == address.name]
            names = [table.location.table[-1] for table in here]
            copies = project.files_of(address.name)
            engines[address.name] = opened(address, names, file.parent, environment, copies)
            closing.callback(engines[address.name].close)
        curator = Curator(project.catalog, engines, home, principal)
        closing.pop_all()
    return curator


def apply_project(
    path: str | Path = FILE, *, by: str, environment: Mapping[str, str] = os.environ
) -> tuple[Change, ...]:
    """Record what the file says and the ledger does not hold, as acts of the owner ``by``."""
    with beside(path, environment) as (project, home):
        missing = changes(project, home.ledger)
        for change in missing:
            if change.make is not None:
                change.make(home.ledger, by)
        return missing


def missing_in(path: str | Path = FILE) -> tuple[Change, ...]:
    """What the file says and the ledger does not hold."""
    with beside(path) as (project, home):
        return changes(project, home.ledger)


@contextmanager
def beside(
    path: str | Path = FILE, environment: Mapping[str, str] = os.environ
) -> Iterator[tuple[Project, Home]]:
    """The project in a file, and its ledger; no engine is opened."""
    file = Path(path)
    project = read_project(file)
    home = Home.of(project, file.parent / FOLDER, environment)
    try:
        yield project, home
    finally:
        home.store.close()


def opened(
    address: EngineAddress,
    tables: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] = os.environ,
    copies: Sequence[str] = (),
) -> CheckedEngine:
    """The engine at ``address``, where ``tables`` live; paths begin at the project file.

    Files of ordered ``copies`` are read beside it, each called by its own name.
    """
    files = {name: str(folder / name) for name in copies}
    if address.kind == "duckdb":
        return open_duckdb(str(folder / address.address), files)
    if address.kind == "parquet":
        if len(tables) != 1:
            raise InvalidValue(
                f"The engine {address.name!r} is one Parquet file, which is one table, and "
                f"{len(tables)} live there."
            )
        return open_parquet(str(folder / address.address), tables[0], files)
    where = with_password(address, environment)
    engine: CheckedEngine = load("tacit.engines.postgres", extra="postgres").Postgres(where)
    return engine
