"""Real servers in processes of their own, which can be killed, over one shared store."""

import os
import signal
import socket
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import closing
from http.client import HTTPConnection
from multiprocessing import forkserver, get_context
from pathlib import Path
from types import ModuleType

from tacit.server.serve import serve
from tacit.store.sealing_key import VARIABLE

KEY = {VARIABLE: b64encode(bytes(range(32))).decode()}
PATIENCE = 60

Seed = Callable[[], None]
"""Makes a server lie, before it starts."""


def honest() -> None:
    """Change nothing."""


class Instance:
    """A `tacit serve` of its own: forked with our code loaded, so that it starts quickly."""

    def __init__(
        self,
        project: Path,
        log: Path,
        seed: Seed = honest,
        environment: Mapping[str, str] = KEY,
    ) -> None:
        forkserver.ensure_running()  # one for all, with our code loaded
        self.port = free_port()
        self.log = log
        given = (project, self.port, log, seed, dict(environment))
        self._process = get_context("fork").Process(target=_serve, args=given)
        self._process.start()

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid or 0

    def ready(self) -> "Instance":
        """Itself, once it answers."""
        wait_for(self.port, self._process.is_alive)
        return self

    def kill(self, *, stopped: bool = False) -> None:
        """Kill it as a crash does, some while after it was stopped."""
        if stopped:
            os.kill(self.pid, signal.SIGSTOP)
            time.sleep(0.01)
        self._process.kill()
        self._process.join()

    def end(self) -> None:
        """Tell it to stop, and wait until it has."""
        self._process.terminate()
        self._process.join(PATIENCE)
        self._process.kill()


class Command:
    """The command `tacit serve` itself: all that it and its children say is in ``log``."""

    def __init__(self, project: Path, log: Path, environment: Mapping[str, str]) -> None:
        self.port = free_port()
        command = [sys.executable, "-m", "tacit.cli", "serve", "--port", str(self.port)]
        with log.open("a") as said:
            self._process = subprocess.Popen(
                [*command, "--project", str(project)],
                stdout=said,
                stderr=said,
                env={**os.environ, **environment},
            )

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def ready(self) -> "Command":
        """Itself, once it answers."""
        wait_for(self.port, lambda: self._process.poll() is None)
        return self

    def kill(self) -> None:
        """Kill it as a crash does."""
        self._process.kill()
        self._process.wait()


def wait_for(port: int, alive: Callable[[], bool]) -> None:
    """Wait until whoever listens there is well."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and alive():
        with closing(HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            try:
                connection.request("GET", "/health")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                time.sleep(0.02)
    raise TimeoutError(port)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _serve(
    project: Path, port: int, log: Path, seed: Seed, environment: dict[str, str]
) -> None:
    with log.open("a") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    forkserver._forkserver.ensure_running = lambda: None  # it runs: our parent's
    sys.modules["__main__"] = ModuleType("__main__")  # children load no pytest
    seed()
    serve(project, "127.0.0.1", port, environment)
