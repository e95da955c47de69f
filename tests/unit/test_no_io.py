"""The guard of unit tests refuses each thing outside of memory, and nothing inside."""

import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import pytest
from no_io import Touched, outside, unguarded

HERE = Path(__file__)
NOWHERE = "/nonexistent/folder/file"
LIES: dict[str, tuple[Callable[[], object], str]] = {
    "a socket": (lambda: socket.socket(), "a socket"),  # noqa: PLW0108 - as a test writes it
    "a name": (lambda: socket.getaddrinfo("localhost", 1), "a socket"),
    "a program": (lambda: subprocess.run([sys.executable, "-V"], check=True), "a child"),
    "a shell": (lambda: os.system("true"), "a child process"),  # noqa: S605
    "a fork": (lambda: os._exit(1) if os.fork() == 0 else None, "a child process"),
    "a worker": (lambda: get_context("fork").Process(target=print).start(), "a child process"),
    "a text": (lambda: HERE.with_suffix(".txt").write_text("x"), "a file to write"),
    "bytes": (lambda: open(NOWHERE, "wb"), f"a file to write, {NOWHERE}"),  # noqa: PTH123, SIM115
    "an appended line": (lambda: open(NOWHERE, "a"), "a file to write"),  # noqa: PTH123, SIM115
    "an update": (lambda: open(NOWHERE, "r+"), "a file to write"),  # noqa: PTH123, SIM115
    "a touch": (lambda: HERE.with_suffix(".txt").touch(), "a file to write"),
    "a file of the system": (lambda: os.open(NOWHERE, os.O_CREAT), "a file to write"),
    "a database": (lambda: sqlite3.connect(NOWHERE), "a database on disk"),
    "a nameless database": (lambda: sqlite3.connect(""), "a database on disk"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_test_that_reaches_outside_is_stopped(name: str) -> None:
    lie, told = LIES[name]
    with pytest.raises(Touched, match=f"may not reach for {told}"):
        lie()


def test_no_tested_code_can_hide_it() -> None:
    def hiding() -> None:
        with suppress(Exception):
            socket.socket()

    with pytest.raises(Touched):
        hiding()


def test_the_temporary_folder_of_pytest_is_outside(request: pytest.FixtureRequest) -> None:
    with pytest.raises(Touched, match="a file to write"):
        request.getfixturevalue("tmp_path").joinpath("made").touch()


def test_what_is_read_or_stays_in_memory_is_allowed() -> None:
    assert HERE.read_text().startswith('"""The guard')
    with sqlite3.connect(":memory:") as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    connection.close()
    with open(os.devnull, "w") as nothing:  # noqa: PTH123
        nothing.write("x")


@pytest.mark.parametrize("folder", ["__pycache__", ".hypothesis", ".pytest_cache", ".mutants"])
def test_the_runner_may_write_its_own_files(folder: str) -> None:
    write = os.O_WRONLY | os.O_CREAT
    assert outside("open", (f"/a/{folder}/b", None, write)) is None
    assert outside("open", (f"/a/{folder}.txt", None, write)) == (
        f"a file to write, /a/{folder}.txt"
    )
    assert outside("open", (b"/a/" + folder.encode() + b"/b", "w", write)) is None
    assert outside("sqlite3.connect", (f"/a/{folder}/b",)) is None
    assert outside("sqlite3.connect", (f"/a/{folder}.db",)) is not None
    assert outside("open", (7, "w", write)) is None
    assert outside("open", ("/a/b", "r", os.O_RDONLY | os.O_CLOEXEC)) is None
    assert outside("import", ("os",)) is None


def test_what_a_whole_run_shares_can_end_after_a_unit_test() -> None:
    with unguarded():
        socket.socket().close()
    with pytest.raises(Touched):
        socket.socket()
