"""Connections of clients: limited in number, and closed if a request does not arrive.

uvicorn closes a connection that is idle after a response. It waits for ever for a first
request, for the rest of a request's headers, for a body, and for a client that does not read
its response. `LimitedProtocol` adds a time limit for each of them.

At the limit of connections, the one that has waited longest for a request is closed for the new
one. So connections that ask nothing displace each other, and not those of clients that ask. A
connection waits until its request has arrived with its whole body. It waits again when its
response is complete, also while its client still reads, or has sent the next request before the
response: clients that send or read very slowly, or send many requests at once, could otherwise
hold all connections.

The server parses the bytes of a few connections in each turn of the event loop (`Turns`), and
health checks at once. A connection that waits for its turn reads no more bytes, so that nobody
can fill the memory meanwhile. A connection is read in small parts, because a body can consist
of chunks of one byte each, which take long to parse.
"""

import asyncio
import os
import resource
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from tacit.server.turns import AHEAD, Turns

HEADER_SECONDS = 10.0
"""Seconds from the first moment of a connection, or of a request, to the end of its headers."""

BODY_SECONDS = 20.0
"""Seconds from the headers of a request to the end of its body."""

WRITE_SECONDS, LOOKS = 60.0, 6
"""Seconds for which a client may read nothing of its response, and the looks in this time."""

SPARE_FILES = 256
"""Open files that are left for the store, the workers and the log."""


READ_AT_ONCE = 4
"""Parts of requests that are parsed in one turn of the event loop; each takes half a ms."""

PART_BYTES = 2**12
"""The most bytes of a part. The worst ones, chunks of one byte, take 6 ms; asyncio's own
256 KiB of them take a third of a second."""

ACCEPT_AT_ONCE = 8
"""Connections that are accepted in one turn of the event loop."""

QUEUED_CONNECTIONS = 2048
"""Connections that the system holds until they are accepted."""

HEALTH_CHECKS, HEALTH_BYTES = tuple(f"GET {path} ".encode() for path in AHEAD), 1000
"""How requests begin that are parsed at once, and the most bytes of them."""


class LimitedProtocol(H11Protocol):
    """uvicorn's HTTP protocol with limits on the number and the time of connections.

    Guarantee: a connection that has no complete request holds no thread and no place in a
    queue, and is closed after a known time.
    """

    most = 1000
    """The most connections of one server. `limited_protocol` sets another number."""

    waiting: ClassVar[dict["LimitedProtocol", None]] = {}
    """The connections of one server without a complete request, the longest first."""

    turns: ClassVar[Turns] = Turns(READ_AT_ONCE)
    """The turns in which the connections of one server are read."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection; at the limit, close the one that has waited longest."""
        self._timer: asyncio.TimerHandle | None = None
        self._look: asyncio.TimerHandle | None = None
        self._unread = self._idle_looks = 0
        self._has_headers = False
        self._came_early = False
        self._unparsed = b""
        super().connection_made(transport)
        transport.max_size = PART_BYTES  # type: ignore[attr-defined] # how much asyncio reads
        self.waiting[self] = None
        if len(self.connections) > self.most:
            next(iter(self.waiting)).drop()
        if not transport.is_closing():
            self._limit(HEADER_SECONDS)

    def drop(self) -> None:
        """Close this connection at once, also if its response is not read."""
        self._cancel()
        self._end_looks()
        self.waiting.pop(self, None)
        self.connections.discard(self)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection that has ended."""
        self._cancel()
        self._end_looks()
        self._unparsed = b""
        self.waiting.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse a part of a request in its turn, and start or end its time limits."""
        if self._unparsed:
            self._unparsed += data
        elif _is_health_check(data) or self.turns.take_now():
            self._parse(data)
        elif data:
            self._unparsed = data
            self.flow.pause_reading()
            self.turns.call_later(self._parse_later)

    def _parse_later(self) -> bool:
        """Parse what waited; return False if the connection was closed meanwhile."""
        data, self._unparsed = self._unparsed, b""
        if not data or self.transport.is_closing():
            return False
        self.flow.resume_reading()
        try:
            self._parse(data)
        except BaseException:
            self.drop()  # as asyncio does if `data_received` fails
            raise
        return True

    def _parse(self, data: bytes) -> None:
        super().data_received(data)
        self._follow_request()

    def on_response_complete(self) -> None:
        """Wait for the next request: uvicorn limits the time until its first byte."""
        if self.conn.their_state is not h11.SEND_BODY:  # a body may be refused unread
            self._cancel()
        self._wait_for_reader()
        super().on_response_complete()
        self._came_early = not self.cycle.response_complete
        if self._came_early:
            self._follow_request()

    def _follow_request(self) -> None:
        """Start or end the time limits of a request, by what has arrived of it."""
        state = self.conn.their_state
        if self.transport.is_closing():
            self._wait_for_reader()
        elif state is h11.SEND_BODY:
            if not self._has_headers:
                self._has_headers = True
                self.waiting.pop(self, None)
                self.waiting[self] = None  # at the end: it has begun to ask
                self._limit(BODY_SECONDS)
        elif state is h11.IDLE:
            self._has_headers = False
            self.waiting.setdefault(self)
            if self._timer is None:
                self._limit(HEADER_SECONDS)
        else:  # the request is complete
            self._has_headers = False
            self._cancel()
            if self.cycle.response_complete or self._unread or self._came_early:
                self.waiting.setdefault(self)
            else:
                self.waiting.pop(self, None)

    def send_400_response(self, msg: str) -> None:
        """Refuse a malformed request; close the connection if its response has begun.

        The request may be at work, if its body is malformed. Its own response is not sent.
        """
        cycle = cast("RequestResponseCycle | None", self.cycle)  # None without a request
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            with suppress(h11.LocalProtocolError):  # a response to HEAD has no body
                super().send_400_response(msg)
        self.transport.close()

    def pause_writing(self) -> None:
        """Limit the time for which the client reads nothing."""
        super().pause_writing()
        if self._look is None:
            self._look_at_reader()

    def resume_writing(self) -> None:
        """Note that the client has read."""
        super().resume_writing()
        self._idle_looks = 0

    def _wait_for_reader(self) -> None:
        """Let another connection displace this one, and see whether its client reads."""
        self.waiting.setdefault(self)
        if self._look is None:
            self._look_at_reader()

    def _look_at_reader(self) -> None:
        """Drop the connection if its client has read nothing in the last `LOOKS` looks."""
        before, self._unread = self._unread, self.transport.get_write_buffer_size()
        read = self._unread < before or not before
        self._idle_looks = 0 if read else self._idle_looks + 1
        self._end_looks()
        if self._idle_looks >= LOOKS:
            self.drop()
        elif self._unread:
            self._look = self.loop.call_later(WRITE_SECONDS / LOOKS, self._look_at_reader)

    def _end_looks(self) -> None:
        if self._look is not None:
            self._look.cancel()
            self._look = None

    def _limit(self, seconds: float) -> None:
        self._cancel()
        self._timer = self.loop.call_later(seconds, self.drop)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _is_health_check(data: bytes) -> bool:
    return len(data) <= HEALTH_BYTES and data.startswith(HEALTH_CHECKS)


def limited_protocol(connections: int) -> type[LimitedProtocol]:
    """Return the protocol for at most so many connections, or fewer if files are short.

    A connection is an open file, and the system limits their number. The limit is raised as far
    as the system allows; `SPARE_FILES` of it are left for other uses.
    """
    most = min(connections, raise_file_limit(connections + SPARE_FILES) - SPARE_FILES)
    own = {"most": max(most, 1), "waiting": {}, "turns": Turns(READ_AT_ONCE)}
    return type("LimitedHttp", (LimitedProtocol,), own)


def lengthen_backlog(address: socket.socket) -> None:
    """Let the system hold `QUEUED_CONNECTIONS` that wait at a listening socket.

    asyncio accepts as many connections in one turn of its loop as the system may hold. A server
    is started with `ACCEPT_AT_ONCE` for both, and the length of the system's queue is set here.
    """
    with socket.socket(fileno=os.dup(address.fileno())) as same:
        same.listen(QUEUED_CONNECTIONS)


def raise_file_limit(
    wanted: int,
    read: Callable[[int], tuple[int, int]] = resource.getrlimit,
    write: Callable[[int, tuple[int, int]], Any] = resource.setrlimit,
) -> int:
    """Raise the limit of open files to ``wanted`` if it is lower; return the limit.

    Example:
        >>> raise_file_limit(2000, lambda _: (1024, 4096), lambda *_: None)
        2000
        >>> raise_file_limit(9000, lambda _: (1024, 4096), lambda *_: None)
        4096
    """
    soft, hard = read(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted if soft == resource.RLIM_INFINITY else soft
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        write(resource.RLIMIT_NOFILE, (most, hard))
    except (OSError, ValueError):
        return soft
    return most
