"""A wire to PostgreSQL that is cut, or stalls, at a chosen message.

It speaks as much of the protocol as it needs: a request ends with Query or Sync, and its reply
with ReadyForQuery, so that a request and its reply can each be lost, whole or in half.
"""

import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

MOMENTS = ("before", "half of it", "after", "half of the reply")
"""When it is cut: the server saw nothing of the request, half of it, or all of it."""

END_OF_REQUEST, END_OF_REPLY = b"QSX", b"Z"


@dataclass(frozen=True)
class Cut:
    """Cuts the ``at``-th request that holds ``words``, and as many after it as ``times`` says.

    Where the server is ``gone`` no new connection is let through either. A ``stall`` loses
    nothing, and takes that many seconds.
    """

    moment: str
    at: int = 1
    words: bytes = b""
    times: int = 1
    gone: bool = False
    stall: float = 0


class Torn(Exception):
    """One end went away, or the wire was cut."""


class CuttingProxy:
    """Listens on a port of its own, and passes on what comes to the server's."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._cut: Cut | None = None
        self._seen = 0
        self.cuts = 0
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def arm(self, cut: Cut | None) -> None:
        """Count requests from here on; None lets everything through."""
        self._cut, self._seen, self.cuts = cut, 0, 0

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for end in self._sockets:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._cut and self._cut.gone and self.cuts:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._server_port))
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets += [client, server]
            thread = threading.Thread(target=self._pass_on, args=(client, server))
            self._threads.append(thread)
            thread.start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        with client, server, suppress(Torn, OSError):
            (size,) = struct.unpack("!I", start := _exactly(client, 4))
            server.sendall(start + _exactly(client, size - 4))
            client.sendall(_until(server, END_OF_REPLY))
            while True:
                self._exchange(client, server)

    def _exchange(self, client: socket.socket, server: socket.socket) -> None:
        request = _until(client, END_OF_REQUEST)
        moment = self._moment(request)
        if moment == "before":
            raise Torn
        if moment == "half of it":
            server.sendall(request[: len(request) // 2])
            raise Torn
        server.sendall(request)
        reply = _until(server, END_OF_REPLY)
        if moment == "after":
            raise Torn
        if moment == "half of the reply":
            client.sendall(reply[: len(reply) // 2])
            raise Torn
        client.sendall(reply)

    def _moment(self, request: bytes) -> str | None:
        cut = self._cut
        if cut is None or cut.words not in request:
            return None
        self._seen += 1
        if not cut.at <= self._seen < cut.at + cut.times:
            return None
        self.cuts += 1
        if cut.stall:
            time.sleep(cut.stall)
            return None
        return cut.moment


def _until(end: socket.socket, kinds: bytes) -> bytes:
    """Whole messages, up to the first of one of these kinds."""
    read = b""
    while True:
        kind, size = struct.unpack("!cI", head := _exactly(end, 5))
        read += head + _exactly(end, size - 4)
        if kind in kinds:
            return read


def _exactly(end: socket.socket, size: int) -> bytes:
    read = b""
    while len(read) < size:
        part = end.recv(size - len(read))
        if not part:
            raise Torn
        read += part
    return read
