"""Made-up questions, taken up to where data would be touched.

A child that rehearsed them answers its first real question as quickly as the next ones, so that
it does not miss a short deadline because it is new.
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
from tacit.project import ENVIRONMENT, EngineAddress, Plugins, Project, SecretPlace
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
    work_of,
)
from tacit.session.engines import columns_read, opened, revealed, spec_of
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
    """Price made-up questions, and print their statements in the engine's own dialect."""
    for sql in QUESTIONS:
        quote = price(parse(sql, _catalog), _catalog, core.Loss.zcdp("0.1"))
        if dialect is not None:
            statement(quote.bound.plan, _catalog, bytes(16), dialect)


# ------------------------------------------------------------------ below
# Below the line in a child process: what it is asked is a question, or a fit.


def read_work(
    request: dict[str, Any], catalog: core.Catalog, plugins: Plugins = NO_PLUGINS
) -> QuoteWork:
    """The work of what was paid for; a fit is priced again, as questions are.

    Its model comes as a name and settings, and no code crosses a process.
    """
    if "fit" not in request:
        return read_question(request, catalog)
    told, (measure, delta) = request["fit"], request["measure"]
    fit = Fit(told["spec"], told["dataset"], tuple(told["features"]), told["target"])
    quote = price_fit(
        fit, model_of(fit.spec, plugins), catalog, core.Measure(measure), Fraction(delta)
    )
    return work_of(request, quote, catalog)


# ------------------------------------------------------------------ pools
# Engines in child processes: what is below the line when a project is served.

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


# ------------------------------------------------------------------ underway
# Paid work that goes on when whoever waited for it has gone.
#
# Somebody who presses Ctrl-C, or whose notebook is interrupted, ends their wait. The work
# itself goes on: it was paid for, its answer is stored when it is there, and asking the same
# again gives it for nothing. An interrupt in the middle of the work would be a failure that
# anybody can make at a moment of their choice.

Made = TypeVar("Made")


class Underway:
    """The work of one session that is under way.

    Example:
        >>> Underway().run(lambda: 6 * 7)
        42
    """

    def __init__(self) -> None:
        self._threads: set[Thread] = set()

    def run(self, work: Callable[[], Made]) -> Made:
        """What ``work`` gives; an interrupt ends the wait for it, and not the work.

        Python interrupts the main thread alone, so elsewhere the work is done in place.
        """
        if current_thread() is not main_thread():
            return work()
        done: Future[Made] = Future()

        def go() -> None:
            try:
                done.set_result(work())
            except BaseException as error:  # noqa: BLE001 - whoever waits is given it
                done.set_exception(error)
            finally:
                self._threads.discard(thread)

        thread = Thread(target=go, name="tacit paid work")
        self._threads.add(thread)
        thread.start()
        return done.result()

    def wait(self) -> None:
        """Wait until all of it is done."""
        for thread in tuple(self._threads):
            thread.join()


# ------------------------------------------------------------------ alarm
# Tell the operator and the owners that a paid question failed: which charge, and the stage.
#
# Why it failed is never told: the reason may be a value of a row.

Log = Callable[[dict[str, Any]], None]
"""Writes one line of the operator's log."""


def alarm(log: Log, command: Sequence[str] = ()) -> Tell:
    """What tells the operator of all troubles, and the owners of those that lock.

    ``command`` is the hook of the project file. It is run without a shell, once for each
    population, with three more arguments: the population, the receipt of the charge, and the
    stage. Nobody waits for it.
    """

    def tell(trouble: Trouble) -> None:
        log(line_of(trouble))
        if command and trouble.what in {FAILED, LATE}:
            for population in trouble.populations:
                given = [*command, population, trouble.receipt.hex(), trouble.stage]
                Thread(target=_run, args=(given, log), daemon=True).start()

    return tell


def line_of(trouble: Trouble) -> dict[str, Any]:
    """A line of the log: which charge, and at which stage.

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
    """Run the owner's command; one that cannot be started is told of in the log."""
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
    """Write a line of the log for the person at this machine."""
    told = {name: part for name, part in line.items() if name != "at"}
    sys.stderr.write(f"tacit: {json.dumps(told)}\n")
