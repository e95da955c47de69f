"""Engines of a project: opened where their addresses say, with the secrets that are kept."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from tacit.engines.duckdb import open_duckdb
from tacit.engines.duckdb_source import open_parquet
from tacit.engines.engine import CheckedEngine
from tacit.errors import InvalidValue
from tacit.extras import load
from tacit.project.engines import EngineAddress
from tacit.project.project import Project
from tacit.session.secret import revealed

Engines = Mapping[str, CheckedEngine]
"""Engines by the names that the project file gives them."""


def opened(  # noqa: PLR0913 - an address, and what of it will be read
    address: EngineAddress,
    tables: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] = os.environ,
    copies: Sequence[str] = (),
    *,
    columns: Sequence[str] | None = None,
) -> CheckedEngine:
    """The engine at ``address``, where ``tables`` live; paths begin at the project file.

    Files of ``copies`` are read beside it, each called by its own name. Of a Parquet file the
    ``columns`` alone will be read (all, where none are named), and every value of theirs can
    be, or the file is refused.
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
        return open_parquet(str(folder / address.address), tables[0], files, columns)
    engine: CheckedEngine
    if address.kind == "spark":
        spark = load("tacit.engines.spark", extra="spark")
        engine = spark.open_spark(with_token(address, environment))
    else:
        postgres = load("tacit.engines.postgres", extra="postgres")
        engine = postgres.Postgres(with_password(address, environment))
    return engine


def all_opened(
    project: Project,
    folder: Path,
    closing: ExitStack,
    environment: Mapping[str, str] = os.environ,
    *,
    reads: bool = True,
) -> dict[str, CheckedEngine]:
    """The engines of ``project`` by name, each with its own tables; ``closing`` ends them.

    Where nobody ``reads`` a row, none is looked at.
    """
    engines = {}
    for address in project.engines:
        here = [t for t in project.catalog.tables if t.location.engine == address.name]
        names = [table.location.table[-1] for table in here]
        copies = project.files_of(address.name)
        columns = columns_read(project, address.name) if reads else ()
        engines[address.name] = opened(
            address, names, folder, environment, copies, columns=columns
        )
        closing.callback(engines[address.name].close)
    return engines


def columns_read(project: Project, engine: str) -> tuple[str, ...]:
    """The columns that questions read where the tables of an engine are, and not in copies."""
    here = [t for t in project.catalog.tables if t.location.engine == engine]
    return tuple(name for table in here if table.copy is None for name in table.schema.names)


def with_password(address: EngineAddress, environment: Mapping[str, str]) -> str:
    """The address with its password: for the driver, and nobody else."""
    if address.password is None:
        return address.address
    split = urlsplit(address.address)
    user, _, host = split.netloc.rpartition("@")
    secret = quote(revealed(address.password, address.name, environment), safe="")
    return urlunsplit(split._replace(netloc=f"{user}:{secret}@{host}"))


def with_token(address: EngineAddress, environment: Mapping[str, str]) -> str:
    """The address with the token of Spark Connect, which speaks in TLS where it has one."""
    if address.password is None:
        return address.address
    secret = quote(revealed(address.password, address.name, environment), safe="")
    start = address.address.rstrip("/;")
    return f"{start}{';' if '/;' in start else '/;'}token={secret}"
