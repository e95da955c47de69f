"""A server over a curator, an engine that fails, and a wire that loses replies."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from getpass import getuser
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from serving import running

from tacit.core.catalog import Catalog
from tacit.engines.engine import CheckedEngine, SecretTable
from tacit.errors import InternalError
from tacit.ledger.ledger import wall_clock
from tacit.plan.bounded_plan import BoundedPlan
from tacit.server.app import make_app, watched_app
from tacit.server.token_policy import TokenScope
from tacit.session.curator import Curator
from tacit.session.project import curator_of
from tacit.store.tokens import AccessToken, Tokens

HOUR_MS = 3_600_000


def token_for(curator: Curator, role: str = "analyst", who: str | None = None) -> str:
    """A token for all datasets."""
    scope = TokenScope().fix(curator.catalog)
    allowed = AccessToken(who or getuser(), role, scope.text, wall_clock() + HOUR_MS)
    return Tokens(curator.home.store).issue(allowed)


@contextmanager
def served(curator: Curator) -> Iterator[str]:
    """The address of a server over ``curator``, which it closes when it ends."""
    with running(watched_app(make_app(curator), lambda _: None)) as address:
        yield address


def curator_over(project: Path) -> Curator:
    """What a server over ``project`` serves."""
    return curator_of(project, "the server", {})


class Fragile:
    """An engine that fails as often as it is told to, and waits before it answers."""

    def __init__(self, engine: CheckedEngine) -> None:
        self._engine = engine
        self.failures = 0
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        time.sleep(self.seconds)
        if self.failures:
            self.failures -= 1
            raise InternalError("The engine failed.")
        return self._engine.run(plan, catalog, salt)


@dataclass
class LosingWire:
    """Passes requests on to a server; the first ``losses`` replies to /v1/ask are lost.

    It hears which keys were sent. ``before`` runs while a reply is held back.
    """

    address: str
    losses: int = 0
    heard: list[str] = field(default_factory=list)
    before: Callable[[], None] = lambda: None
    _listener: socket.socket = field(
        default_factory=lambda: socket.create_server(("127.0.0.1", 0))
    )

    def __enter__(self) -> Self:
        split = urlsplit(self.address)
        self._server = split.hostname or "", split.port or 0
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client, suppress(OSError):
                client.settimeout(10)
                self._pass_on(client)

    def _pass_on(self, client: socket.socket) -> None:
        """One exchange a connection: the reply says that it is the last."""
        request = _message(client)
        with socket.create_connection(self._server) as server:
            server.sendall(_closing(request))
            reply = b"".join(iter(lambda: server.recv(65536), b""))
        if request.startswith(b"POST /v1/ask"):
            self.heard.append(_header(request, "idempotency-key"))
            if self.losses:
                self.losses -= 1
                self.before()
                return
        client.sendall(_closing(reply))


def _message(end: socket.socket) -> bytes:
    read = b""
    while b"\r\n\r\n" not in read:
        read += end.recv(65536)
    wanted = int(_header(read, "content-length") or 0) + read.index(b"\r\n\r\n") + 4
    while len(read) < wanted:
        read += end.recv(65536)
    return read


def _header(message: bytes, name: str) -> str:
    head = message.split(b"\r\n\r\n")[0].decode()
    lines = [line.partition(": ") for line in head.split("\r\n")[1:]]
    return next((value for key, _, value in lines if key.lower() == name), "")


def _closing(message: bytes) -> bytes:
    head, _, body = message.partition(b"\r\n\r\n")
    lines = [
        line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")
    ]
    return b"\r\n".join([*lines, b"connection: close"]) + b"\r\n\r\n" + body
