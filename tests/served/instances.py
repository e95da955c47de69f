"""Real servers in processes of their own, which can be killed, over one shared store."""

import json
import os
import signal
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from itertools import count
from multiprocessing import forkserver, get_context
from pathlib import Path
from types import ModuleType

import sqlglot.dialects.duckdb  # noqa: F401 - loaded once, and not by each of them

from tacit.server.app import serve
from tacit.store.sealed_state import VARIABLE

KEY = {VARIABLE: b64encode(bytes(range(32))).decode()}
PATIENCE = 60
"""Seconds for a reply."""

START_PATIENCE = 300
"""Seconds for a start: on a busy machine it takes long, and who is dead is not waited for."""

NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
TAIL = 2000
_numbers = count()

Seed = Callable[[], None]
"""Makes a server lie, or die, before it starts."""


def honest() -> None:
    """Change nothing."""


class Instance:
    """A `tacit serve` of its own: forked with our code loaded, so that it starts quickly.

    ``logs`` is a folder: each has a log of its own there, whose first line tells its port.
    """

    def __init__(
        self,
        project: Path,
        logs: Path,
        seed: Seed = honest,
        environment: Mapping[str, str] = KEY,
    ) -> None:
        forkserver.ensure_running()  # one for all, with our code loaded
        self.log = new_log(logs)
        given = (project, self.log, seed, dict(environment))
        self._process = get_context("fork").Process(target=_serve, args=given)
        self._process.start()
        self.port = 0

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid or 0

    def ready(self) -> "Instance":
        """Itself, once it listens."""
        self.port = port_of(self.log, lambda: self._process.exitcode)
        return self

    def kill(self, *, stopped: bool = False) -> None:
        """Kill it as a crash does, some while after it was stopped."""
        if stopped:
            os.kill(self.pid, signal.SIGSTOP)
            time.sleep(0.01)
        self._process.kill()
        self._process.join()

    def died(self) -> bool:
        """Whether it killed itself, which is waited for."""
        self._process.join(PATIENCE)
        return self._process.exitcode == -signal.SIGKILL


class Command:
    """The command `tacit serve` itself: all that it and its children say is in its log.

    A ``script`` of our own, given the project, serves it instead: one that lies.
    """

    def __init__(
        self,
        project: Path,
        logs: Path,
        environment: Mapping[str, str],
        script: Path | None = None,
    ) -> None:
        self.log = new_log(logs)
        self.port = 0
        command = [sys.executable, "-m", "tacit.cli", "serve", "--port", "0"]
        command = [*command, "--project", str(project)]
        if script is not None:
            command = [sys.executable, str(script), str(project)]
        around = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
        around["PYTHONPYCACHEPREFIX"] = str(
            logs.with_name("bytecode")
        )  # the next starts sooner
        with self.log.open("a") as said:
            self._process = subprocess.Popen(
                command,
                stdout=said,
                stderr=said,
                env={**around, **environment},
            )

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def ready(self) -> "Command":
        """Itself, once it listens."""
        self.port = port_of(self.log, self._process.poll)
        return self

    def kill(self) -> None:
        """Kill it as a crash does."""
        self._process.kill()
        self._process.wait()


def new_log(logs: Path) -> Path:
    """A file of its own for what a server says."""
    logs.mkdir(parents=True, exist_ok=True)
    made = logs / f"{next(_numbers)}.log"
    made.touch()
    return made


def port_of(log: Path, exited: Callable[[], int | None]) -> int:
    """Where a server listens, which its log tells; how it ended, where it does not start."""
    until = time.monotonic() + START_PATIENCE
    while (code := exited()) is None and time.monotonic() < until:
        with log.open() as said:
            for line in said:
                if line.startswith('{"at"') and line.endswith("\n"):
                    return int(json.loads(line)["port"])
        time.sleep(0.01)
    how = "does not start" if code is None else f"ended with {code}"
    raise TimeoutError(f"A server {how}; it said:\n{log.read_text()[-TAIL:]}")


def _serve(project: Path, log: Path, seed: Seed, environment: dict[str, str]) -> None:
    with log.open("a") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    # it runs: our parent's
    forkserver._forkserver.ensure_running = lambda: None
    forkserver.ensure_running = forkserver._forkserver.ensure_running
    sys.modules["__main__"] = ModuleType("__main__")  # children load no pytest
    seed()
    serve(project, "127.0.0.1", 0, environment)
