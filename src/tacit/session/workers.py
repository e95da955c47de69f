"""Worker processes of a served project, paid work in the background, and failure reports.

The first part rehearses synthetic questions up to the point where data would be read. A worker
that has rehearsed answers its first real question as quickly as the next ones, so that a new
worker does not miss a short deadline.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from fractions import Fraction
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import gettempdir
from threading import Thread, current_thread, main_thread
from typing import Any, TypeVar

from tacit import core
from tacit.engines import Dialect, Engine, EngineSpec, statement
from tacit.engines.registry import engine_spec
from tacit.errors import InvalidValue
from tacit.ledger import wall_clock
from tacit.ml.registry import MODELS, NO_PLUGINS, load_estimators, model_of
from tacit.project import ENVIRONMENT, OPEN, EngineAddress, Plugins, Project, SecretPlace
from tacit.query import (
    FAILED,
    LATE,
    Allowed,
    Confinement,
    Fit,
    Pool,
    QuoteWork,
    Tell,
    Trouble,
    Worker,
    price,
    price_fit,
    read_question,
    time_in,
    work_of,
)
from tacit.session.engines import HERE, columns_read, open_engine, secret_of, spec_of
from tacit.sql import parse

QUESTIONS = (
    "SELECT COUNT(*) AS n, SUM(pay) AS s, AVG(pay) AS a, VARIANCE(pay) AS v FROM people",
    "SELECT city, MEDIAN(pay) AS m, MIN(pay) AS l FROM people WHERE pay > 1 GROUP BY city",
)

_people = core.Dataset(
    name="people",
    population="people",
    schema=core.Schema(
        (
            core.Column("person", core.Kind.TEXT),
            core.Column("city", core.Kind.TEXT, keys=core.Keys(("Bern", "Ulm"))),
            core.Column("pay", core.Kind.INTEGER, bounds=core.Bounds.of(0, 100)),
        )
    ),
    unit=core.UnitColumn("person"),
    limits=core.Limits(max_groups=1, max_rows=2),
    location=core.Location("nowhere", ("people",)),
    epoch=core.Epoch("1"),
)
_catalog = core.Catalog((core.Population("people", core.PrivacyUnit("person")),), (_people,))


def rehearse(dialect: Dialect | None) -> None:
    """Price synthetic questions, and print their statements in the engine's dialect."""
    for sql in QUESTIONS:
        quote = price(parse(sql, _catalog), _catalog, core.Loss.zcdp("0.1"))
        if dialect is not None:
            statement(quote.bound.plan, _catalog, bytes(16), dialect)


# ------------------------------------------------------------------ below
# Below the charge, in a worker process: the work is a question or a fit.


def read_work(
    request: dict[str, Any], catalog: core.Catalog, plugins: Plugins = NO_PLUGINS
) -> QuoteWork:
    """Return the work of a charged request; a fit is priced again, as questions are.

    The model of a fit arrives as a name and settings; no code is sent between processes.
    """
    if "fit" not in request:
        return read_question(request, catalog)
    sent, (measure, delta) = request["fit"], request["measure"]
    fit = Fit(sent["spec"], sent["dataset"], tuple(sent["features"]), sent["target"])
    estimator, time = model_of(fit.spec, plugins), time_in(request)
    quote = price_fit(fit, estimator, catalog, core.Measure(measure), Fraction(delta), time)
    return work_of(request, quote, catalog)


# ------------------------------------------------------------------ pools
# Pools of worker processes, which run charged questions when a project is served.

MEGABYTE = 2**20

LOADED = ("__main__", __name__)
"""Modules that every worker needs: the fork server loads them once for all workers."""

LONGEST_FOLDER = 107 - len("/pymp-12345678/listener-12345678")
"""The most bytes in the name of the temporary folder: a socket's path has at most 107."""

get_context("forkserver").set_forkserver_preload(list(LOADED))

PASSWORD, DEFAULT_PASSWORDS = "TACIT_ENGINE_PASSWORD", ("PGPASSWORD", "PGPASSFILE")
"""The variable with the engine's password for a worker, and the ones that it replaces."""


def pools_of(
    project: Project, folder: Path, environment: Mapping[str, str] = os.environ
) -> dict[str, Pool]:
    """Return a pool of started workers for each engine of ``project``.

    Guarantee: a worker uses at most the memory and time that the project allows, the same for
    every table. Of ``environment`` it sees only the variables of its own engine.
    """
    _check_folder()
    serving, found = project.serving, {}
    specs = {each.name: spec_of(project, each) for each in project.engines}
    loaded = [*LOADED, *(module for spec in specs.values() for module in spec.preload)]
    if serving.time is not None and serving.time.kind != OPEN:
        # otherwise imports would make a worker's first fit late
        loaded += MODELS.values()
    get_context("forkserver").set_forkserver_preload(list(dict.fromkeys(loaded)))
    # with a deadline, the time limit of a question is the deadline
    most = Allowed(serving.megabytes * MEGABYTE, serving.deadline or serving.seconds)
    reads = partial(read_work, plugins=dict(project.plugins))
    for named in project.engines:
        address, within = confinement_of(named, specs[named.name], environment, folder)
        allowed = replace(most, within=within)
        here = [t for t in project.catalog.tables if t.location.engine == address.name]
        tables = tuple(table.location.table[-1] for table in here)
        copies, columns = project.files_of(address.name), columns_read(project, address.name)
        start = partial(_start, address, tables, copies, columns, dict(project.plugins))
        workers = [
            Worker(start, str(folder.resolve()), project.catalog, allowed, reads=reads)
            for _ in range(serving.places)
        ]
        pool = found[address.name] = Pool(workers, serving.deadline, serving.time, address.name)
        if not pool.start():
            for each in found.values():
                each.close()
            raise InvalidValue(
                f"The engine {address.name!r} does not start in a process of "
                f"{serving.megabytes} megabytes. Allow more: [server] megabytes = 16384. If "
                "more does not help, this system may forbid the confinement of workers "
                "(prctl, seccomp), which Tacit requires."
            )
    return found


def confinement_of(
    address: EngineAddress,
    spec: EngineSpec,
    environment: Mapping[str, str],
    folder: Path = HERE,
) -> tuple[EngineAddress, Confinement]:
    """Return the address of an engine for a worker, and the confinement of that worker.

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
        kept[PASSWORD] = secret_of(address.password, address.name, environment, folder)
        address = replace(address, password=SecretPlace(ENVIRONMENT, (PASSWORD,)))
    return address, Confinement(environment=kept)


def _check_folder() -> None:
    """Refuse a temporary folder whose name is too long for a socket in it."""
    folder = gettempdir()
    if len(os.fsencode(folder)) > LONGEST_FOLDER:
        raise InvalidValue(
            f"Worker processes cannot start, because the name of the temporary folder {folder} "
            f"is longer than {LONGEST_FOLDER} bytes. Set TMPDIR to a folder with a shorter "
            "name."
        )


def _start(  # noqa: PLR0913, PLR0917 - an engine, and the tables and columns to read
    address: EngineAddress,
    tables: tuple[str, ...],
    copies: tuple[str, ...],
    columns: tuple[str, ...],
    plugins: Plugins,
    folder: str,
) -> Engine:
    """Open the engine in a worker; its environment has the password, if there is one."""
    engine = open_engine(
        address, tables, Path(folder), copies=copies, columns=columns, plugins=plugins
    )
    load_estimators(plugins)  # a plug-in that fails does so before anything is charged
    engine.tables()  # reads names and no row; the first call takes longer than the next ones
    rehearse(engine_spec(address.kind, plugins).dialect)
    return engine


# ------------------------------------------------------------------ paid work
# Paid work that continues when nobody waits for it any longer.
#
# An analyst who presses Ctrl-C, or interrupts a notebook, ends the wait. The work itself
# continues: it was charged, its answer is stored when it is complete, and the same question
# again returns it for free. If an interrupt could stop the work, anybody could cause a failure
# at a moment of their choice.

Made = TypeVar("Made")


class UninterruptibleWork:
    """The paid work of one session that is still running, which no interrupt can stop.

    Example:
        >>> UninterruptibleWork().run(lambda: 6 * 7)
        42
    """

    def __init__(self) -> None:
        self._threads: set[Thread] = set()

    def run(self, work: Callable[[], Made]) -> Made:
        """Return the result of ``work``; an interrupt ends the wait, but not the work.

        Python interrupts only the main thread, so in other threads the work is done directly.
        """
        if current_thread() is not main_thread():
            return work()
        done: Future[Made] = Future()

        def go() -> None:
            try:
                done.set_result(work())
            except BaseException as error:  # noqa: BLE001 - it is raised for the waiting thread
                done.set_exception(error)
            finally:
                self._threads.discard(thread)

        thread = Thread(target=go, name="tacit paid work")
        self._threads.add(thread)
        thread.start()
        return done.result()

    def wait(self) -> None:
        """Wait until all work is done."""
        for thread in tuple(self._threads):
            thread.join()


# ------------------------------------------------------------------ alarm
# Report to the operator and the owners that a paid question failed: the charge and the stage.
#
# The cause of the failure is never reported, because it may be a value of a row.

Log = Callable[[dict[str, Any]], None]
"""A function that writes one line of the operator's log."""


def alarm(log: Log, command: Sequence[str] = ()) -> Tell:
    """Return a function that logs every incident, and runs ``command`` for those that lock.

    ``command`` is the hook ``on_failure`` of the project file, by which owners are notified.
    It is run without a shell, once for each population, with three more arguments: the
    population, the receipt of the charge, and the stage. Nothing waits for its end.
    """

    def tell(trouble: Trouble) -> None:
        log(line_of(trouble))
        if command and trouble.what in {FAILED, LATE}:
            for population in trouble.populations:
                given = [*command, population, trouble.receipt.hex(), trouble.stage]
                Thread(target=_run, args=(given, log), daemon=True).start()

    return tell


def line_of(trouble: Trouble) -> dict[str, Any]:
    """Return a line of the log for an incident: the charge, and the stage at which it failed.

    Example:
        >>> line = line_of(Trouble("failed", ("patients",), bytes(2), "engine"))
        >>> line["below"], line["charge"], line["stage"], line["populations"]
        ('failed', '0000', 'engine', ['patients'])
    """
    return {
        "at": wall_clock(),
        "below": trouble.what,
        "charge": trouble.receipt.hex(),
        "stage": trouble.stage,
        "populations": list(trouble.populations),
    }


def _run(command: Sequence[str], log: Log) -> None:
    """Run the owner's command; log it if the command cannot be started."""
    nowhere = subprocess.DEVNULL
    try:
        subprocess.run(  # noqa: S603 - the owner's own command, without a shell
            command,
            check=False,
            stdin=nowhere,
            stdout=nowhere,
            stderr=nowhere,
            start_new_session=True,
        )
    except OSError:
        log({"at": wall_clock(), "below": "on_failure could not be started"})


def to_stderr(line: dict[str, Any]) -> None:
    """Write a line of the log to stderr, without its time."""
    shown = {name: part for name, part in line.items() if name != "at"}
    sys.stderr.write(f"tacit: {json.dumps(shown)}\n")
