"""A worker holds nothing: what the system itself says of a confined process, and each lie.

A process is forked from the test and confined, so that a lie which is put into the test's own
process reaches it. The last tests look at real workers of a server.
"""

import ctypes
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing import forkserver
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from conftest import Bar
from serving import make_project

from tacit.engines.registry import DUCKDB_SPEC, POSTGRES_SPEC
from tacit.project.engines import EngineAddress, SecretPlace
from tacit.query import worker_sandbox as confining
from tacit.query.worker_sandbox import Confinement, confine
from tacit.session.project import open_for_serving
from tacit.session.workers import PASSWORD, confinement_of

pytestmark = [
    pytest.mark.skipif(
        sys.platform != "linux", reason="platform: what the pages say Linux alone has"
    ),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]

SECRETS = {"TACIT_STATE_KEY": "a1b2c3", "STORE_PASSWORD": "hunter2"}
PR_GET_DUMPABLE, PR_SET_DUMPABLE = 3, 4
FILE, SERVER = Confinement(network=False), Confinement(environment={"PGPASSWORD": "own"})
PIDFD_GETFD = 438


def tried(action: Callable[[], object]) -> str | None:
    """The name of the error that an action ends with."""
    try:
        action()
    except OSError as error:
        return type(error).__name__
    return None


def forked() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def threaded() -> None:
    thread = Thread(target=int)
    thread.start()
    thread.join()


def stolen() -> None:
    """Take a file of the parent process over."""
    library = ctypes.CDLL(None, use_errno=True)
    parent = os.pidfd_open(os.getppid())
    if library.syscall(PIDFD_GETFD, parent, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def seen_inside() -> dict[str, Any]:
    """What a confined process finds that it can do."""
    return {
        "environment": dict(os.environ),
        "dumpable": ctypes.CDLL(None).prctl(PR_GET_DUMPABLE, 0, 0, 0, 0),
        "internet": tried(lambda: socket.socket(socket.AF_INET).close()),
        "internet 6": tried(lambda: socket.socket(socket.AF_INET6).close()),
        "local socket": tried(lambda: socket.socket(socket.AF_UNIX).close()),
        "process": tried(forked),
        "thread": tried(threaded),
        "stolen": tried(stolen),
    }


def report_of(within: Confinement) -> dict[str, Any]:
    """What a process that is forked from this one and confined sees, and what is seen of it."""
    from_child, to_parent = os.pipe()
    to_end, end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.environ.update(SECRETS)
            # a test before may have served here, and so have made this process undumpable
            ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
            confine(within)
            os.write(to_parent, json.dumps(seen_inside()).encode())
            os.read(to_end, 1)
        finally:
            os._exit(0)
    os.close(to_parent)
    report: dict[str, Any] = json.loads(os.read(from_child, 65536))
    report |= seen_outside(child)
    os.write(end, b".")
    os.waitpid(child, 0)
    for file in (from_child, to_end, end):
        os.close(file)
    return report


def seen_outside(process: int) -> dict[str, Any]:
    """What Linux says of a process."""
    place = Path("/proc") / str(process)
    status = dict(
        line.split(":", 1) for line in (place / "status").read_text().splitlines() if line
    )
    limits = {
        line[:26].strip(): line[26:].split()[1]  # the hard limit
        for line in (place / "limits").read_text().splitlines()
    }
    return {
        "initial environment": (place / "environ").read_bytes().strip(b"\0").decode(),
        "no new privileges": status["NoNewPrivs"].strip(),
        "filter": status["Seccomp"].strip(),
        "core": limits["Max core file size"],
        "files": limits["Max open files"],
        "processes": limits["Max processes"],
    }


def wanted(within: Confinement) -> dict[str, Any]:
    """What a report says of a process that is well confined."""
    without = None if within.network else "PermissionError"
    return {
        "environment": dict(within.environment),
        "dumpable": 0,
        "internet": without,
        "internet 6": without,
        "local socket": without,
        "process": without,
        "thread": None,
        "stolen": "PermissionError",
        "initial environment": "",
        "no new privileges": "1",
        "filter": "2",
        "core": "0",
        "files": "4096",
        "processes": "4096",
    }


def wrong(within: Confinement) -> set[str]:
    """In which points a confined process is not as it should be."""
    report, right = report_of(within), wanted(within)
    assert report.keys() == right.keys()
    return {name for name in right if report[name] != right[name]}


@pytest.mark.parametrize("within", [FILE, SERVER], ids=["file", "server"])
def test_a_confined_process_holds_nothing(within: Confinement, bar: Bar) -> None:
    found = wrong(within)
    kind = "over a network" if within.network else "over a file"
    bar(f"points of 14 in which a worker {kind} is not confined", len(found), "0", not found)


LIES: dict[str, set[str]] = {
    "set_environment": {"environment"},
    "limit_core_dumps": {"core"},
    "_limit": {"files", "processes"},
    "_erase_initial_environment": {"initial environment"},
    "make_undumpable": {"dumpable"},
    "_filter_system_calls": {
        *("filter", "internet", "internet 6", "local socket", "process", "stolen")
    },
}
"""What shows when one of these does nothing."""


@pytest.mark.parametrize("lie", LIES)
def test_each_part_that_is_left_out_shows(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confining, lie, lambda *_, **__: None)
    assert wrong(FILE) == LIES[lie]


def test_privileges_that_could_be_gained_would_show(monkeypatch: pytest.MonkeyPatch) -> None:
    real = confining._prctl
    skipped = confining.PR_SET_NO_NEW_PRIVS
    monkeypatch.setattr(
        confining, "_prctl", lambda option, *rest: option == skipped or real(option, *rest)
    )
    if os.geteuid() != 0:  # without them, only root may have a filter
        monkeypatch.setattr(confining, "_filter_system_calls", lambda *_, **__: None)
    assert "no new privileges" in wrong(FILE)


def initial_environment_of_fork_server() -> str:
    """What Linux shows of a fork server that a new process with secrets starts."""
    from_child, to_parent = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.environ.update(SECRETS)
            server = forkserver._forkserver  # type: ignore[attr-defined]
            server._forkserver_pid = server._forkserver_address = None
            confining.start_fork_server()
            place = Path(f"/proc/{server._forkserver_pid}")
            while b"multiprocessing.forkserver" not in (place / "cmdline").read_bytes():
                time.sleep(0.01)  # it is forked, and not executed yet
            shown = (place / "environ").read_bytes()
            os.write(to_parent, json.dumps([shown.decode(), dict(os.environ)]).encode())
        finally:
            os._exit(0)
    os.close(to_parent)
    with os.fdopen(from_child) as report:
        shown, kept = json.loads(report.read())
    os.waitpid(child, 0)
    assert kept.items() >= SECRETS.items()  # whoever starts it keeps its own
    return str(shown)


def test_the_fork_server_is_started_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = initial_environment_of_fork_server()
    assert not [name for name in SECRETS if name in shown]
    names = {line.partition("=")[0] for line in shown.split("\0") if line}
    assert names <= {*confining.PUBLIC_NAMES, "COLUMNS", "LINES"}  # readline sets the last two
    monkeypatch.setattr(confining, "start_fork_server", forkserver.ensure_running)
    assert set(SECRETS) <= {
        line.partition("=")[0] for line in initial_environment_of_fork_server().split("\0")
    }


@pytest.fixture(scope="module")
def worker_of_a_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    file = make_project(
        tmp_path_factory.mktemp("confined"), more="[server]\nprocesses = 1\nseconds = 60\n"
    )
    curator, _ = open_for_serving(file, SECRETS)
    (worker,) = curator.pools["warehouse"]._workers
    assert worker._child is not None
    yield worker._child[0].pid or 0
    for pool in curator.pools.values():
        pool.close()
    curator.close()


def test_workers_of_a_server_are_confined(worker_of_a_server: int) -> None:
    seen, right = seen_outside(worker_of_a_server), wanted(FILE)
    assert {name for name in seen if seen[name] != right[name]} == set()


def test_a_worker_is_given_its_own_engines_credentials_alone() -> None:
    around = SECRETS | {"PGPASSWORD": "default", "PGSSLMODE": "verify-full", "KEY": "engine's"}
    place = SecretPlace("env", ("KEY",))
    address = EngineAddress("w", "postgres", "postgresql://t@h/d", place)
    told, within = confinement_of(address, POSTGRES_SPEC, around)
    assert within.environment == {"PGSSLMODE": "verify-full", PASSWORD: "engine's"}
    assert told.password == SecretPlace("env", (PASSWORD,))
    assert "engine's" not in repr(within)
    plain, within = confinement_of(
        EngineAddress("w", "duckdb", "d.duckdb"), DUCKDB_SPEC, around
    )
    assert (dict(within.environment), within.network) == ({}, False)
    assert plain.password is None
