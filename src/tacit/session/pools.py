"""Engines in child processes: what is below the line when a project is served."""

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import gettempdir

from tacit.engines.engine import Engine
from tacit.errors import InvalidValue
from tacit.ml.registry import MODELS
from tacit.project.engines import EngineAddress
from tacit.project.project import Project
from tacit.project.secret import ENVIRONMENT, SecretPlace
from tacit.query.confine import Confinement
from tacit.query.pool import Pool
from tacit.query.worker import Allowed, Worker
from tacit.session.below import read_work
from tacit.session.engines import columns_read, opened
from tacit.session.rehearsal import rehearse
from tacit.session.secret import revealed

MEGABYTE = 2**20

LOADED = ("__main__", __name__, "sqlglot.dialects.duckdb", "sqlglot.dialects.postgres")
"""What children need for their first question: loaded once, and not by each of them."""

LONGEST_FOLDER = 107 - len("/pymp-12345678/listener-12345678")
"""Bytes of the folder where children meet whoever starts them: a socket has 107 at most."""

get_context("forkserver").set_forkserver_preload(list(LOADED))

FILES = ("duckdb", "parquet")
"""Kinds of engines that are files, and need neither a network nor a credential."""

DRIVER_VARIABLES = {
    "postgres": ("PG", "HOME"),
    "spark": (
        *("SPARK_", "PYSPARK_", "HADOOP_", "YARN_", "JAVA_", "HOME", "PATH", "LANG", "LC_"),
        *("AWS_", "AZURE_", "GOOGLE_"),
    ),
}
"""How the names of variables begin that an engine's own driver reads."""

PASSWORD, DEFAULT_PASSWORDS = "TACIT_ENGINE_PASSWORD", ("PGPASSWORD", "PGPASSFILE")
"""Under which name a worker is given its engine's password, and what that makes needless."""


def pools_of(
    project: Project, folder: Path, environment: Mapping[str, str] = os.environ
) -> dict[str, Pool]:
    """A pool for each engine of ``project``, whose children are started.

    Guarantee: no more memory and time than the project allows, the same for every table; and
    of ``environment`` no variable but those of the child's own engine.
    """
    _check_folder()
    serving, found = project.serving, {}
    if serving.deadline is not None:  # the first fit of a child would be late, by its imports
        loaded = [*LOADED, *MODELS.values()]
        get_context("forkserver").set_forkserver_preload(loaded)
    # a question that has a deadline is not waited for any longer
    most = Allowed(serving.megabytes * MEGABYTE, serving.deadline or serving.seconds)
    for named in project.engines:
        address, within = confined(named, environment)
        allowed = replace(most, within=within)
        here = [t for t in project.catalog.tables if t.location.engine == address.name]
        tables = tuple(table.location.table[-1] for table in here)
        copies, columns = project.files_of(address.name), columns_read(project, address.name)
        start = partial(_start, address, tables, copies, columns)
        workers = [
            Worker(start, str(folder.resolve()), project.catalog, allowed, reads=read_work)
            for _ in range(serving.processes)
        ]
        pool = found[address.name] = Pool(workers, serving.deadline)
        if not pool.start():
            for each in found.values():
                each.close()
            raise InvalidValue(
                f"The engine {address.name!r} does not start in a process of "
                f"{serving.megabytes} megabytes; allow more: [server] megabytes = 16384. If "
                "more does not help, this system may not allow workers to be confined (prctl, "
                "seccomp), which it must."
            )
    return found


def confined(
    address: EngineAddress, environment: Mapping[str, str]
) -> tuple[EngineAddress, Confinement]:
    """The address of an engine for a worker, and what that worker keeps.

    A password is looked up here, by the server, so that the worker needs neither the server's
    environment nor the system's keyring.
    """
    if address.kind in FILES:
        return address, Confinement(network=False)
    kept = {
        name: value
        for name, value in environment.items()
        if name.startswith(DRIVER_VARIABLES[address.kind])
    }
    if address.password is not None:
        for name in DEFAULT_PASSWORDS:
            kept.pop(name, None)
        kept[PASSWORD] = revealed(address.password, address.name, environment)
        address = replace(address, password=SecretPlace(ENVIRONMENT, (PASSWORD,)))
    return address, Confinement(environment=kept)


def _check_folder() -> None:
    """Refuse a folder for temporary files whose name is too long for a socket in it."""
    folder = gettempdir()
    if len(os.fsencode(folder)) > LONGEST_FOLDER:
        raise InvalidValue(
            f"Child processes do not start from {folder}: the name of a folder for temporary "
            f"files has at most {LONGEST_FOLDER} bytes here; set TMPDIR to a shorter one."
        )


def _start(
    address: EngineAddress,
    tables: tuple[str, ...],
    copies: tuple[str, ...],
    columns: tuple[str, ...],
    folder: str,
) -> Engine:
    """Open the engine in a child, whose environment holds the password, where there is one."""
    engine = opened(address, tables, Path(folder), copies=copies, columns=columns)
    engine.tables()  # names, and no row: the first time takes longer
    rehearse()
    return engine
