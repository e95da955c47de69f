"""What a worker gives up before it starts, and the filter of its system calls."""

import ctypes
import errno
import os
import platform
import resource
import sys
from collections.abc import Callable
from multiprocessing import forkserver
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tacit.query import worker_sandbox
from tacit.query.worker_sandbox import (
    KNOWN_CALLS,
    Confinement,
    Instruction,
    SystemCalls,
    confine,
    filter_program,
    make_undumpable,
    start_fork_server,
)

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="platform: what the pages say Linux alone has"
)

NO_LIMIT = resource.RLIM_INFINITY
ALLOWED, REFUSED = 0x7FFF0000, 0x50000 | errno.EPERM
NOT_THERE = 0x50000 | errno.ENOSYS

# Rights ---------------------------------------------------------------------------------------


class Kernel:
    """What a process asked of the system, without any effect."""

    def __init__(self) -> None:
        self.limits: dict[int, tuple[int, int]] = {}
        self.hard: dict[int, int] = {}
        self.prctl_calls: list[tuple[int, ...]] = []
        self.filter: list[Instruction] = []
        self.erased: list[tuple[int, int, int]] = []
        self.result = 0

    def setrlimit(self, what: int, limits: tuple[int, int]) -> None:
        self.limits[what] = limits

    def getrlimit(self, what: int) -> tuple[int, int]:
        return 0, self.hard.get(what, NO_LIMIT)

    def memset(self, start: int, byte: int, length: int) -> None:
        self.erased.append((start, byte, length))

    def prctl(self, option: ctypes.c_int, *given: ctypes.c_ulong) -> int:
        numbers = [each.value for each in given]
        if option.value == 22:  # PR_SET_SECCOMP: copy the program that the pointer leads to
            whole = worker_sandbox._Program.from_address(numbers[1])
            self.filter = [
                (each.operation, each.if_true, each.if_false, each.number)
                for each in whole.start[: whole.length]
            ]
            numbers[1] = -1
        self.prctl_calls.append((option.value, *numbers))
        return self.result


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    made = Kernel()
    monkeypatch.setattr(resource, "setrlimit", made.setrlimit)
    monkeypatch.setattr(resource, "getrlimit", made.getrlimit)
    monkeypatch.setattr(ctypes, "memset", made.memset)
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: made)
    monkeypatch.setattr(os, "environ", {"STORE_PASSWORD": "hunter2"})
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return made


@pytest.mark.parametrize("network", [True, False])
def test_a_worker_keeps_only_the_rights_that_it_needs(
    network: bool,  # noqa: FBT001 - whether its engine is a server
    kernel: Kernel,
) -> None:
    confine(Confinement(network, {"PGPASSWORD": "own"}))
    assert os.environ == {"PGPASSWORD": "own"}
    assert kernel.limits == {
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_NOFILE: (4096, 4096),
        resource.RLIMIT_NPROC: (4096, 4096),
    }
    # the numbers are those of the kernel: not dumpable, no new privileges, a filter
    assert kernel.prctl_calls == [(4, 0, 0, 0, 0), (38, 1, 0, 0, 0), (22, 2, -1, 0, 0)]
    assert kernel.filter == filter_program(KNOWN_CALLS["x86_64"], network=network)


def test_the_environment_that_linux_shows_is_erased(kernel: Kernel) -> None:
    shown = len(Path("/proc/self/environ").read_bytes())
    confine(Confinement())
    ((_, byte, length),) = kernel.erased
    assert (byte, length) == (0, shown)


@pytest.mark.parametrize(("hard", "left"), [(NO_LIMIT, 4096), (5000, 4096), (100, 100)])
def test_a_limit_is_never_raised(hard: int, left: int, kernel: Kernel) -> None:
    kernel.hard = {resource.RLIMIT_NOFILE: hard}
    confine(Confinement())
    assert kernel.limits[resource.RLIMIT_NOFILE] == (left, left)


def test_a_worker_whose_rights_cannot_be_limited_does_not_start(kernel: Kernel) -> None:
    kernel.result = -1
    with pytest.raises(OSError, match="rights of this worker process cannot be limited"):
        confine(Confinement())


def test_an_architecture_whose_calls_are_unknown_has_no_filter(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    confine(Confinement())
    assert [option for option, *_ in kernel.prctl_calls] == [4, 38]


def test_a_process_can_be_made_undumpable_alone(kernel: Kernel) -> None:
    make_undumpable()
    assert kernel.prctl_calls == [(4, 0, 0, 0, 0)]


def test_the_secrets_of_an_engine_are_not_printed() -> None:
    assert "hunter2" not in repr(Confinement(environment={"PASSWORD": "hunter2"}))


# The fork server ------------------------------------------------------------------------------


def started(monkeypatch: pytest.MonkeyPatch, server: object) -> list[dict[str, str]]:
    """The environments with which a fork server is started, where ``server`` is the last."""
    seen: list[dict[str, str]] = []
    monkeypatch.setattr(forkserver, "_forkserver", server)
    monkeypatch.setattr(forkserver, "ensure_running", lambda: seen.append(dict(os.environ)))
    start_fork_server()
    return seen


def waiting(found: object) -> Callable[..., object]:
    def waitid(kind: int, pid: int, options: int) -> object:
        assert (kind, pid) == (os.P_PID, 77)
        assert options == os.WEXITED | os.WNOHANG | os.WNOWAIT
        if isinstance(found, Exception):
            raise found
        return found

    return waitid


RUNNING = SimpleNamespace(_forkserver_pid=77)


@pytest.mark.parametrize(
    ("server", "waited"),
    [
        (None, None),
        (SimpleNamespace(_forkserver_pid=None), None),
        (RUNNING, "ended"),
        (RUNNING, ChildProcessError()),
    ],
    ids=["none", "not started", "ended", "of another process"],
)
def test_a_fork_server_is_started_with_public_variables_alone(
    server: object, waited: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"PATH": "/bin", "TZ": "UTC", "STORE_PASSWORD": "hunter2", "LANG": "C"}
    monkeypatch.setattr(os, "environ", dict(given))
    monkeypatch.setattr(os, "waitid", waiting(waited))
    found = started(monkeypatch, server)
    assert found == [{"PATH": "/bin", "TZ": "UTC", "LANG": "C"}]
    assert os.environ == given


def test_a_fork_server_that_runs_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "waitid", waiting(None))
    assert started(monkeypatch, RUNNING) == []


def test_a_start_that_fails_leaves_the_environment_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails() -> None:
        raise BlockingIOError

    monkeypatch.setattr(os, "environ", {"STORE_PASSWORD": "hunter2"})
    monkeypatch.setattr(forkserver, "_forkserver", None)
    monkeypatch.setattr(forkserver, "ensure_running", fails)
    with pytest.raises(BlockingIOError):
        start_fork_server()
    assert os.environ == {"STORE_PASSWORD": "hunter2"}


# The filter -----------------------------------------------------------------------------------

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06


def said(program: list[Instruction], number: int, architecture: int, argument: int = 0) -> int:
    """What the kernel's own machine, written in Python, says of a call.

    It is stricter than the kernel: a load or a return that has jumps is an error.
    """
    held, place = 0, 0
    while True:
        operation, if_true, if_false, given = program[place]
        place += 1
        if operation in {LOAD, RETURN}:
            assert (if_true, if_false) == (0, 0)
        if operation == RETURN:
            return given
        if operation == LOAD:
            held = {0: number, 4: architecture, 16: argument}[given]
            continue
        holds = {
            JUMP_EQUAL: held == given,
            JUMP_AT_LEAST: held >= given,
            JUMP_ANY_BIT: bool(held & given),
        }[operation]
        place += if_true if holds else if_false


NAMES: dict[str, dict[str, int]] = {
    "x86_64": {
        "architecture": 0xC000003E,
        "read": 0,
        "execve": 59,
        "ptrace": 101,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "pidfd_getfd": 438,
        "socket": 41,
        "io_uring_setup": 425,
        "fork": 57,
        "vfork": 58,
        "clone": 56,
        "clone3": 435,
    },
    "aarch64": {
        "architecture": 0xC00000B7,
        "read": 63,
        "execve": 221,
        "ptrace": 117,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
        "pidfd_getfd": 438,
        "socket": 198,
        "io_uring_setup": 425,
        "clone": 220,
        "clone3": 435,
    },
}
"""The numbers of calls in the tables of the kernel."""

ALWAYS = {"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"}
WITHOUT_NETWORK = {"socket", "io_uring_setup", "fork", "vfork", "clone"}
THREAD, CHILD = 0x3D0F00, 17  # the flags of the C library for a thread and for a process


@pytest.mark.parametrize("network", [True, False])
@pytest.mark.parametrize("machine", NAMES)
def test_the_filter_refuses_calls_by_their_names(
    machine: str,
    network: bool,  # noqa: FBT001 - whether its engine is a server
) -> None:
    names: dict[str, Any] = dict(NAMES[machine])
    architecture = names.pop("architecture")
    program = filter_program(KNOWN_CALLS[machine], network=network)
    found = {name: said(program, number, architecture, CHILD) for name, number in names.items()}
    refused = ALWAYS if network else ALWAYS | WITHOUT_NETWORK
    wanted = {name: REFUSED if name in refused else ALLOWED for name in names}
    if not network:
        wanted["clone3"] = NOT_THERE
    assert found == wanted
    assert said(program, names["clone"], architecture, THREAD) == ALLOWED


@pytest.mark.parametrize("network", [True, False])
@pytest.mark.parametrize("calls", KNOWN_CALLS.values(), ids=KNOWN_CALLS)
def test_the_filter_refuses_other_architectures_and_a_second_set_of_numbers(
    calls: SystemCalls,
    network: bool,  # noqa: FBT001 - whether its engine is a server
) -> None:
    program = filter_program(calls, network=network)
    assert said(program, 0, calls.architecture) == ALLOWED
    assert said(program, 0, calls.architecture ^ 1) == REFUSED
    assert said(program, 2**30 - 1, calls.architecture) == ALLOWED
    assert said(program, 2**30, calls.architecture) == REFUSED
    assert said(program, 2**30 + 41, calls.architecture) == REFUSED
