"""Take everything from a worker process that answering paid questions does not need.

A worker reads people's rows, so whoever finds a fault in the engine that it runs may run code
there. The worker therefore holds no secret but those of its own engine, and can reach nothing
that its engine does not need:

* The environment is empty but for the engine's credentials. Clearing ``os.environ`` is not
  enough: Linux shows the environment that a process was *executed* with in
  ``/proc/PID/environ``, and a forked process has that of its parent. So the fork server is
  executed with an environment of public names (`start_fork_server`), and each worker also
  overwrites the memory which that file shows (`_erase_initial_environment`), since somebody
  else may have started the fork server before.
* No core dump is written: the limit is 0, and the process is not dumpable. Both are needed,
  since Linux ignores the limit where core dumps are piped to a program. A process that is not
  dumpable cannot be traced or read by others of the same user either.
* Nothing that the worker executes can gain privileges.
* A filter of system calls (seccomp) refuses calls that reach into other processes, and, where
  the engine is a file, all sockets and all new processes.
* Open files and processes are limited.

Linux on x86-64 and ARM64 has all of this. Other systems have the limits and the empty
environment; ``docs/reference/server.md`` says so.
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
"""Files that a worker may have open."""

MOST_PROCESSES = 4096
"""Processes and threads that the worker's user may have when the worker makes another one.

Systems count all of the user's, so a small number would refuse threads because of somebody
else's work. Where the engine is a file, the filter refuses new processes altogether.
"""

PUBLIC_NAMES = (
    *("PATH", "PYTHONHOME", "PYTHONPATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
    *("LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
)
"""Variables that the fork server needs to start and to load libraries; none holds a secret."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """What one worker keeps: its engine's own ``environment``, and whether it has a network."""

    network: bool = True
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


def confine(to: Confinement) -> None:
    """Give up all that a worker does not need; the first thing that a worker does.

    Raises:
        OSError: the system refuses one of the limits, so the worker must not start.
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
    """Have no variables but these."""
    os.environ.clear()
    os.environ.update(variables)


def limit_core_dumps() -> None:
    """Forbid core files, which would hold rows."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def make_undumpable() -> None:
    """Forbid core dumps of every form, and other processes of this user to read this one."""
    if sys.platform == "linux":
        _prctl(PR_SET_DUMPABLE, 0)


_starting = Lock()


def start_fork_server() -> None:
    """Start the process that workers are forked from, with public variables alone.

    The standard library executes it with the environment of whoever asks, which holds the key
    of sealed states and the password of the store. So these are taken out of ``os.environ``
    for the moment of starting. Where the fork server already runs, nothing is done.
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
    """Whether there is a fork server that has not ended."""
    server = getattr(forkserver, "_forkserver", None)
    pid = getattr(server, "_forkserver_pid", None)
    if pid is None:
        return False
    try:  # looks without taking the exit status, which the standard library waits for
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


def _limit(what: int, most: int) -> None:
    """Lower a limit, for good; a limit that is lower already stays."""
    _, hard = resource.getrlimit(what)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (least, least))


# Linux ----------------------------------------------------------------------------------------

PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 4, 22, 38
SECCOMP_MODE_FILTER = 2


def _prctl(option: int, value: int, pointer: int = 0) -> None:
    """Call ``prctl``, and raise what it says."""
    library = ctypes.CDLL(None, use_errno=True)
    numbers = (ctypes.c_ulong(number) for number in (value, pointer, 0, 0))
    if library.prctl(ctypes.c_int(option), *numbers) != 0:
        raise OSError(ctypes.get_errno(), "This worker process cannot be confined.")


def _erase_initial_environment() -> None:
    """Overwrite the part of the stack that ``/proc/PID/environ`` shows.

    ``/proc/self/stat`` says where it begins and ends: its 50th and 51st numbers. The variables
    of this process point there no more, since ``os.environ`` was cleared before.
    """
    numbers = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()
    start, end = (int(numbers[place - 3]) for place in (50, 51))
    ctypes.memset(start, 0, end - start)


# A filter of system calls is a small program for the kernel's packet-filter machine. The
# machine runs it before each system call, over a structure that holds the call's number at byte
# 0, the architecture at byte 4 and the low half of the first argument at byte 16. The program
# ends by saying what happens: the call is allowed, or it returns an error and does nothing.
#
# Numbers of calls differ by architecture, so the program first refuses calls of any other
# architecture (a 64-bit process can make 32-bit calls), and numbers beyond 2^30, by which
# x86-64 has a second set of the same calls.
#
# Threads and processes are made by one call, ``clone``, whose first argument tells which it is:
# threads stay allowed, since DuckDB has one for each core. The newer ``clone3`` hides its
# arguments behind a pointer, which a filter cannot follow; it is said not to exist, and the C
# library then uses ``clone``.

CLONE_THREAD = 0x10000
LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER_AT, ARCHITECTURE_AT, ARGUMENT_AT = 0, 4, 16
ALLOWED, REFUSED, NOT_THERE = 0x7FFF0000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS

Instruction = tuple[int, int, int, int]
"""An operation, how many instructions are skipped if it holds and if not, and a number."""


@dataclass(frozen=True, slots=True)
class SystemCalls:
    """The numbers of an architecture's system calls, as its kernel has had them ever since."""

    architecture: int
    into_others: tuple[int, ...]
    """ptrace, process_vm_readv, process_vm_writev, pidfd_getfd."""
    sockets: tuple[int, ...]
    """socket, and io_uring_setup, by which sockets are made without that call."""
    processes: tuple[int, ...]
    """fork and vfork, where they exist."""
    clone: int
    clone3: int = 435


KNOWN_CALLS = {
    "x86_64": SystemCalls(0xC000003E, (101, 310, 311, 438), (41, 425), (57, 58), 56),
    "aarch64": SystemCalls(0xC00000B7, (117, 270, 271, 438), (198, 425), (), 220),
}


def filter_program(calls: SystemCalls, *, network: bool) -> list[Instruction]:
    """The filter: what is refused, in the order in which it is looked for."""
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
    """Have the kernel run the filter, for this thread and all that it starts, for good."""
    calls = KNOWN_CALLS.get(platform.machine())
    if calls is None:
        return  # docs/reference/server.md names the architectures that have a filter
    program = filter_program(calls, network=network)
    instructions = (_Instruction * len(program))(*(_Instruction(*each) for each in program))
    whole = _Program(len(program), instructions)
    _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(whole))
