"""Engines in child processes: what is below the line when a project is served."""

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import gettempdir

from tacit.engines.engine import Engine
from tacit.engines.engine_spec import EngineSpec
from tacit.engines.registry import engine_spec
from tacit.errors import InvalidValue
from tacit.ml.registry import MODELS, load_estimators
from tacit.project.address import Plugins
from tacit.project.engines import EngineAddress
from tacit.project.project import Project
from tacit.project.secret import ENVIRONMENT, SecretPlace
from tacit.query.confine import Confinement
from tacit.query.pool import Pool
from tacit.query.worker import Allowed, Worker
from tacit.session.below import read_work
from tacit.session.engines import columns_read, opened
from tacit.session.project_file import spec_of
from tacit.session.rehearsal import rehearse
from tacit.session.secret import revealed

MEGABYTE = 2**20

LOADED = ("__main__", __name__)
"""What children need for their first question: loaded once, and not by each of them."""

LONGEST_FOLDER = 107 - len("/pymp-12345678/listener-12345678")
"""Bytes of the folder where children meet whoever starts them: a socket has 107 at most."""

get_context("forkserver").set_forkserver_preload(list(LOADED))

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
    specs = {each.name: spec_of(project, each) for each in project.engines}
    loaded = [*LOADED, *(module for spec in specs.values() for module in spec.preload)]
    if serving.deadline is not None:  # the first fit of a child would be late, by its imports
        loaded += MODELS.values()
    get_context("forkserver").set_forkserver_preload(list(dict.fromkeys(loaded)))
    # a question that has a deadline is not waited for any longer
    most = Allowed(serving.megabytes * MEGABYTE, serving.deadline or serving.seconds)
    reads = partial(read_work, plugins=dict(project.plugins))
    for named in project.engines:
        address, within = confined(named, specs[named.name], environment)
        allowed = replace(most, within=within)
        here = [t for t in project.catalog.tables if t.location.engine == address.name]
        tables = tuple(table.location.table[-1] for table in here)
        copies, columns = project.files_of(address.name), columns_read(project, address.name)
        start = partial(_start, address, tables, copies, columns, dict(project.plugins))
        workers = [
            Worker(start, str(folder.resolve()), project.catalog, allowed, reads=reads)
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
    address: EngineAddress, spec: EngineSpec, environment: Mapping[str, str]
) -> tuple[EngineAddress, Confinement]:
    """The address of an engine for a worker, and what that worker keeps.

    A password is looked up here, by the server, so that the worker needs neither the server's
    environment nor the system's keyring.
    """
    if spec.variables is None:
        return address, Confinement(network=False)
    kept = {
        name: value for name, value in environment.items() if name.startswith(spec.variables)
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


def _start(  # noqa: PLR0913, PLR0917 - an engine, and what of it will be read
    address: EngineAddress,
    tables: tuple[str, ...],
    copies: tuple[str, ...],
    columns: tuple[str, ...],
    plugins: Plugins,
    folder: str,
) -> Engine:
    """Open the engine in a child, whose environment holds the password, where there is one."""
    engine = opened(
        address, tables, Path(folder), copies=copies, columns=columns, plugins=plugins
    )
    load_estimators(plugins)  # a plug-in that fails does so before anything is charged
    engine.tables()  # names, and no row: the first time takes longer
    rehearse(engine_spec(address.kind, plugins).dialect)
    return engine
