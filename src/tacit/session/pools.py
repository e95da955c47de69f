"""Engines in child processes: what is below the line when a project is served."""

import os
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import gettempdir

from tacit.engines.engine import Engine
from tacit.errors import InvalidValue
from tacit.ml.registry import MODELS
from tacit.project.engines import EngineAddress
from tacit.project.project import Project
from tacit.query.pool import Pool
from tacit.query.worker import Allowed, Worker
from tacit.session.below import answer
from tacit.session.engines import opened
from tacit.session.rehearsal import rehearse

MEGABYTE = 2**20

LOADED = ("__main__", __name__, "sqlglot.dialects.duckdb", "sqlglot.dialects.postgres")
"""What children need for their first question: loaded once, and not by each of them."""

LONGEST_FOLDER = 107 - len("/pymp-12345678/listener-12345678")
"""Bytes of the folder where children meet whoever starts them: a socket has 107 at most."""

get_context("forkserver").set_forkserver_preload(list(LOADED))


def pools_of(project: Project, folder: Path) -> dict[str, Pool]:
    """A pool for each engine of ``project``, whose children are started.

    Guarantee: no more memory and time than the project allows, the same for every table.
    """
    _check_folder()
    serving, found = project.serving, {}
    if serving.deadline is not None:  # the first fit of a child would be late, by its imports
        loaded = [*LOADED, *MODELS.values()]
        get_context("forkserver").set_forkserver_preload(loaded)
    # a question that has a deadline is not waited for any longer
    allowed = Allowed(serving.megabytes * MEGABYTE, serving.deadline or serving.seconds)
    for address in project.engines:
        here = [t for t in project.catalog.tables if t.location.engine == address.name]
        tables = tuple(table.location.table[-1] for table in here)
        start = partial(_start, address, tables, project.files_of(address.name))
        workers = [
            Worker(start, str(folder.resolve()), project.catalog, allowed, answers=answer)
            for _ in range(serving.processes)
        ]
        pool = found[address.name] = Pool(workers, serving.deadline)
        if not pool.start():
            for each in found.values():
                each.close()
            raise InvalidValue(
                f"The engine {address.name!r} does not start in a process of "
                f"{serving.megabytes} megabytes; allow more: [server] megabytes = 16384."
            )
    return found


def _check_folder() -> None:
    """Refuse a folder for temporary files whose name is too long for a socket in it."""
    folder = gettempdir()
    if len(os.fsencode(folder)) > LONGEST_FOLDER:
        raise InvalidValue(
            f"Child processes do not start from {folder}: the name of a folder for temporary "
            f"files has at most {LONGEST_FOLDER} bytes here; set TMPDIR to a shorter one."
        )


def _start(
    address: EngineAddress, tables: tuple[str, ...], copies: tuple[str, ...], folder: str
) -> Engine:
    """What a child does first; secrets come from its own environment."""
    engine = opened(address, tables, Path(folder), copies=copies)
    engine.tables()  # names, and no row: the first time takes longer
    rehearse()
    return engine
