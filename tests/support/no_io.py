"""A guard for unit tests: while it is on, nothing outside of the process's memory is touched.

Python tells its audit hooks of every socket, child process and opened file (PEP 578). A hook
cannot be removed again, so this one looks at a flag that is set while a unit test runs. What it
raises is no `Exception`, so that no `except Exception` of the tested code can hide it.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

CHILDREN = frozenset(
    {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system"}
)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
OWN = frozenset({"__pycache__", ".hypothesis", ".pytest_cache", ".mutants"})
"""Folders that Python, hypothesis, pytest and `just mutants` write into by themselves."""


class Touched(BaseException):
    """A unit test reached for something outside of the process's memory."""


class _Guard:
    on = False


_guard = _Guard()


def outside(event: str, arguments: tuple[Any, ...]) -> str | None:
    """Return what an audit event reaches for, or None where a unit test may do it."""
    if event.startswith("socket."):
        return "a socket"
    if event in CHILDREN:
        return "a child process"
    if event == "open":
        path, _, flags = arguments
        return f"a file to write, {path}" if flags & WRITES and not _own(path) else None
    if event == "sqlite3.connect":
        place = arguments[0]
        return None if place == ":memory:" or _own(place) else f"a database on disk, {place}"
    return None


def _own(path: object) -> bool:
    """Whether a file is one that the test runner or Python itself writes."""
    if isinstance(path, int):  # already open
        return True
    text = os.fsdecode(path) if isinstance(path, bytes) else str(path)
    return text == os.devnull or not OWN.isdisjoint(PurePath(text).parts)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _guard.on:
        touched = outside(event, arguments)
        if touched is not None:
            raise Touched(f"A unit test may not reach for {touched}; see CONTRIBUTING.md.")


sys.addaudithook(_hook)


@contextmanager
def guarded() -> Iterator[None]:
    """Refuse sockets, child processes, written files and databases on disk in this block."""
    before, _guard.on = _guard.on, True
    try:
        yield
    finally:
        _guard.on = before


@contextmanager
def unguarded() -> Iterator[None]:
    """Allow everything in this block, also within a block of `guarded`."""
    before, _guard.on = _guard.on, False
    try:
        yield
    finally:
        _guard.on = before
