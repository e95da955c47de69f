"""The sandbox of a worker process: it removes all rights that paid queries do not need.

A worker reads personal data. An attacker who finds a fault in the engine could run code in the
worker. The worker therefore has no secrets except those of its own engine, and cannot reach
anything that its engine does not need:

* The environment contains only the engine's credentials. Clearing ``os.environ`` is not enough:
  Linux shows the environment with which a process was *executed* in ``/proc/PID/environ``, and
  a forked process has the one of its parent. The fork server is therefore executed with public
  variables only (`start_fork_server`), and each worker also overwrites the memory that this
  file shows (`_erase_initial_environment`), in case other code has started the fork server
  before.
* No core dump is written: the limit is 0, and the process is not dumpable. Both are needed,
  because Linux ignores the limit if core dumps are piped to a program. A process that is not
  dumpable also cannot be traced or read by other processes of the same user.
* The worker cannot gain privileges by executing a program.
* A filter of system calls (seccomp) refuses calls that access other processes, and, if the
  engine is a file, all sockets and all new processes.
* The numbers of open files and of processes are limited.

All of this is available on Linux on x86-64 and ARM64. Other systems have only the limits and
the empty environment, as ``docs/reference/server.md`` says.
"""

import ctypes
import errno
import os
import platform
import resource
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing import forkserver
from pathlib import Path
from threading import Lock

MOST_FILES = 4096
"""Largest number of open files of a worker."""

MOST_PROCESSES = 4096
"""Largest number of processes and threads of the worker's user when the worker makes another.

The system counts all processes of the user, so that a small number would refuse threads because
of unrelated programs. If the engine is a file, the filter refuses all new processes.
"""

PUBLIC_NAMES = (
    *("PATH", "PYTHONHOME", "PYTHONPATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
    *("LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
)
"""Variables that the fork server needs to start and to load libraries; none is a secret."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """The rights of one worker: the ``environment`` of its engine, and use of the network."""

    network: bool = True
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


def confine(to: Confinement) -> None:
    """Give up all rights that this worker process does not need, before it does anything else.

    Raises:
        OSError: The system refuses one of the limits, so that the worker must not start.
    """
    set_environment(to.environment)
    limit_core_dumps()
    _limit(resource.RLIMIT_NOFILE, MOST_FILES)
    _limit(resource.RLIMIT_NPROC, MOST_PROCESSES)
    if sys.platform == "linux":
        _erase_initial_environment()
        make_undumpable()
        _prctl(PR_SET_NO_NEW_PRIVS, 1)
        _filter_system_calls(network=to.network)


def set_environment(variables: Mapping[str, str]) -> None:
    """Replace all environment variables by ``variables``."""
    os.environ.clear()
    os.environ.update(variables)


def limit_core_dumps() -> None:
    """Forbid core files, which would contain rows."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def make_undumpable() -> None:
    """Forbid core dumps of every form, and other processes of this user to read this one."""
    if sys.platform == "linux":
        _prctl(PR_SET_DUMPABLE, 0)


_starting = Lock()


def start_fork_server() -> None:
    """Start the process from which workers are forked, with public variables only.

    The standard library executes it with the environment of the calling process, which contains
    the key of sealed states and the password of the store. They are removed from ``os.environ``
    while the fork server starts. If it already runs, nothing is done.
    """
    with _starting:
        if _fork_server_runs():
            return
        kept = dict(os.environ)
        try:
            os.environ.clear()
            os.environ.update({name: kept[name] for name in PUBLIC_NAMES if name in kept})
            forkserver.ensure_running()
        finally:
            os.environ.update(kept)


def _fork_server_runs() -> bool:
    """Return whether there is a fork server that has not ended."""
    server = getattr(forkserver, "_forkserver", None)
    pid = getattr(server, "_forkserver_pid", None)
    if pid is None:
        return False
    try:  # WNOWAIT leaves the exit status to the standard library, which waits for it
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


def _limit(what: int, most: int) -> None:
    """Lower a limit permanently; a limit that is lower already does not change."""
    _, hard = resource.getrlimit(what)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (least, least))


# Linux ----------------------------------------------------------------------------------------

PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 4, 22, 38
SECCOMP_MODE_FILTER = 2


def _prctl(option: int, value: int, pointer: int = 0) -> None:
    """Call ``prctl``, and raise its error."""
    library = ctypes.CDLL(None, use_errno=True)
    numbers = (ctypes.c_ulong(number) for number in (value, pointer, 0, 0))
    if library.prctl(ctypes.c_int(option), *numbers) != 0:
        raise OSError(
            ctypes.get_errno(),
            "The rights of this worker process cannot be limited, because prctl failed.",
        )


def _erase_initial_environment() -> None:
    """Overwrite the part of the stack that ``/proc/PID/environ`` shows.

    The 50th and 51st numbers of ``/proc/self/stat`` are its begin and end. The variables of
    this process do not point there any more, because ``os.environ`` was cleared before.
    """
    numbers = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()
    start, end = (int(numbers[place - 3]) for place in (50, 51))
    ctypes.memset(start, 0, end - start)


# A filter of system calls is a small program for the packet-filter machine (BPF) of the kernel.
# The machine runs it before each system call, over a structure with the call's number at byte
# 0, the architecture at byte 4 and the low half of the first argument at byte 16. The program
# returns what happens: the call is allowed, or it returns an error and has no effect.
#
# The numbers of calls differ by architecture. The program therefore first refuses calls of any
# other architecture (a 64-bit process can make 32-bit calls), and numbers from 2^30, which are
# a second set of the same calls on x86-64.
#
# One call, ``clone``, makes threads and processes, and a bit of its first argument
# distinguishes them. Threads stay allowed, because DuckDB uses one for each core. The newer
# ``clone3`` has its arguments behind a pointer, which a filter cannot follow; the filter
# reports that ``clone3`` does not exist, and the C library then uses ``clone``.

CLONE_THREAD = 0x10000
LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER_AT, ARCHITECTURE_AT, ARGUMENT_AT = 0, 4, 16
ALLOWED, REFUSED, NOT_THERE = 0x7FFF0000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS

Instruction = tuple[int, int, int, int]
"""An operation, the numbers of instructions to skip if it is true and if it is false, and an
operand."""


@dataclass(frozen=True, slots=True)
class SystemCalls:
    """The numbers of system calls on an architecture; the kernel never changes them."""

    architecture: int
    into_others: tuple[int, ...]
    """ptrace, process_vm_readv, process_vm_writev, pidfd_getfd."""
    sockets: tuple[int, ...]
    """socket, and io_uring_setup, which can open sockets without that call."""
    processes: tuple[int, ...]
    """fork and vfork, where they exist."""
    clone: int
    clone3: int = 435


KNOWN_CALLS = {
    "x86_64": SystemCalls(0xC000003E, (101, 310, 311, 438), (41, 425), (57, 58), 56),
    "aarch64": SystemCalls(0xC00000B7, (117, 270, 271, 438), (198, 425), (), 220),
}


def filter_program(calls: SystemCalls, *, network: bool) -> list[Instruction]:
    """Return the instructions of the filter; calls are checked in the order of the list."""
    program: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (JUMP_EQUAL, 1, 0, calls.architecture),
        (RETURN, 0, 0, REFUSED),
        (LOAD, 0, 0, NUMBER_AT),
        (JUMP_AT_LEAST, 0, 1, 2**30),
        (RETURN, 0, 0, REFUSED),
    ]
    refused = calls.into_others
    if not network:
        refused += calls.sockets + calls.processes
    for number in refused:
        program += [(JUMP_EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSED)]
    if not network:
        program += [
            (JUMP_EQUAL, 0, 1, calls.clone3),
            (RETURN, 0, 0, NOT_THERE),
            (JUMP_EQUAL, 0, 3, calls.clone),
            (LOAD, 0, 0, ARGUMENT_AT),
            (JUMP_ANY_BIT, 1, 0, CLONE_THREAD),
            (RETURN, 0, 0, REFUSED),
        ]
    return [*program, (RETURN, 0, 0, ALLOWED)]


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("operation", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("number", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("start", ctypes.POINTER(_Instruction)))


def _filter_system_calls(*, network: bool) -> None:
    """Install the filter in the kernel, permanently, for this thread and all that it starts."""
    calls = KNOWN_CALLS.get(platform.machine())
    if calls is None:
        return  # docs/reference/server.md names the architectures that have a filter
    program = filter_program(calls, network=network)
    instructions = (_Instruction * len(program))(*(_Instruction(*each) for each in program))
    whole = _Program(len(program), instructions)
    _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(whole))
