"""Connections that ask nothing are closed, and displace nobody who asks."""

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager
from threading import Thread

import pytest
import requests
import uvicorn
from conftest import Bar
from fastapi import FastAPI, Request
from uvicorn.protocols.http.h11_impl import H11Protocol

from tacit.server import connections
from tacit.server.connections import (
    ACCEPT_AT_ONCE,
    PART_BYTES,
    READ_AT_ONCE,
    LimitedProtocol,
    lengthen_backlog,
    limited_protocol,
)
from tacit.server.turns import Turns

MOST = 20
HALF_OPEN = 60
SOON = 0.3
"""Seconds of the time limits in these tests."""

HEADERS = b"POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n"


@pytest.fixture(autouse=True)
def short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEADER_SECONDS", "BODY_SECONDS", "WRITE_SECONDS"):
        monkeypatch.setattr(connections, name, SOON)


@contextmanager
def running(protocol: type[H11Protocol]) -> Iterator[int]:
    """A small app behind ``protocol``; its port."""
    with counting(protocol) as (port, _):
        yield port


@contextmanager
def counting(protocol: type[H11Protocol]) -> Iterator[tuple[int, AbstractSet[object]]]:
    """A small app behind ``protocol``; its port, and the connections that it has open."""
    app = FastAPI()

    @app.post("/echo")
    async def echo(request: Request) -> int:
        return len(await request.body())

    @app.post("/refuse")
    async def refuse() -> str:
        return "it reads no body"

    asked: set[object] = set()

    @app.get("/slow")
    async def slow(request: Request) -> None:
        if request.client in asked:  # the second request of a connection
            await asyncio.sleep(5)
        asked.add(request.client)

    @app.get("/large")
    async def large() -> str:
        return "x" * 30_000_000

    config = uvicorn.Config(app, port=0, http=protocol, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    thread = Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1], server.server_state.connections
    finally:
        server.should_exit = True
        thread.join()


def is_closed(line: socket.socket, seconds: float = 10.0) -> bool:
    """Whether the server closes a connection within this time."""
    line.settimeout(seconds)
    try:
        while line.recv(2**16):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /ec",
        HEADERS,
        HEADERS + b"\r\n",
        HEADERS + b"\r\n12345",
        HEADERS + b"\r\n1234567890POST /ec",
        HEADERS + b"\r\n1234567890" + HEADERS + b"\r\n12345",
    ],
    ids=[
        "nothing",
        "half a line",
        "half of the headers",
        "no body",
        "half a body",
        "the next",
        "half of the next body",
    ],
)
def test_a_request_that_does_not_arrive_is_ended(sent: bytes, bar: Bar) -> None:
    for protocol, wanted in ((limited_protocol(MOST), True), (H11Protocol, False)):
        if sent.endswith(b"POST /ec") and protocol is H11Protocol:
            continue  # uvicorn's own limit after a response is 5 seconds
        with running(protocol) as port, socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(sent)
            found = is_closed(line, 10.0 if wanted else 4 * SOON)
        name = "ours" if wanted else "lie, uvicorn's own"
        bar(f"{name}: closed after {len(sent)} bytes", found, wanted, found is wanted)


GET = b"GET /large HTTP/1.1\r\nHost: here\r\n\r\n"
UNREAD = {
    "one response": GET,
    "the last response": GET.replace(b"Host", b"Connection: close\r\nHost"),
    "many responses": 5 * GET,
    "HTTP/1.0": b"GET /large HTTP/1.0\r\n\r\n",
    "a malformed request after a response": GET + b"nonsense\r\n\r\n",
}


def ask_without_reading(port: int, sent: bytes) -> socket.socket:
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.connect(("127.0.0.1", port))
    line.sendall(sent)
    return line


def comes(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Whether something is true within this time."""
    ends = time.monotonic() + seconds
    while not true():
        if time.monotonic() > ends:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("name", UNREAD)
def test_a_client_that_does_not_read_is_ended(name: str, bar: Bar) -> None:
    for protocol, wanted in ((limited_protocol(MOST), True), (H11Protocol, False)):
        with counting(protocol) as (port, opened):
            line = ask_without_reading(port, UNREAD[name])
            assert comes(lambda: len(opened) == 1)
            found = comes(lambda: not opened, 20.0 if wanted else 8 * SOON)
            line.close()
        said = "ours" if wanted else "lie, uvicorn's own"
        bar(f"{said}: {name}, unread, is closed", found, wanted, found is wanted)


def test_a_client_that_reads_slowly_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "WRITE_SECONDS", 1.0)
    size, began = 0, time.monotonic()
    with (
        running(limited_protocol(MOST)) as port,
        socket.create_connection(("127.0.0.1", port), timeout=20) as line,
    ):
        line.sendall(GET)
        while size < 30_000_000:
            part = line.recv(2**19)
            assert part, "the connection was closed"
            size += len(part)
            time.sleep(0.05)
    assert time.monotonic() - began > 2.0


@pytest.mark.parametrize(
    "sent",
    [
        GET.replace(b"Host", b"Connection: close\r\nHost"),
        HEADERS + b"\r\n12345",
        HEADERS.replace(b"echo", b"refuse") + b"\r\n12345",
        2 * b"GET /slow HTTP/1.1\r\nHost: here\r\n\r\n",
    ],
    ids=["an unread response", "half a body", "half a body after a refusal", "two at once"],
)
def test_connections_that_are_held_displace_each_other(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HEADER_SECONDS", "BODY_SECONDS", "WRITE_SECONDS"):
        monkeypatch.setattr(connections, name, 60.0)
    with counting(limited_protocol(3)) as (port, opened), ExitStack() as closing:
        for _ in range(3):
            closing.enter_context(ask_without_reading(port, sent))
        assert comes(lambda: len(opened) == 3)
        time.sleep(SOON)
        for _ in range(3):  # whoever asks is not shut out
            reply = requests.post(f"http://127.0.0.1:{port}/echo", b"x", timeout=10)
            assert reply.json() == 1


def test_a_malformed_body_after_a_refusal_is_no_error_of_ours(
    caplog: pytest.LogCaptureFixture,
) -> None:
    chunked = b"POST /refuse HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
    with (
        running(limited_protocol(MOST)) as port,
        socket.create_connection(("127.0.0.1", port)) as line,
    ):
        line.sendall(chunked)
        assert b"200 OK" in line.recv(1000)
        line.sendall(b"no length\r\n")
        assert is_closed(line)
    assert [each for each in caplog.records if each.levelname == "ERROR"] == []


def chunked(method: str, path: str) -> bytes:
    """The headers of a request whose body comes in chunks."""
    return (
        f"{method} {path} HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    )


@pytest.fixture
def long_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time limits that a busy machine does not reach."""
    for name in ("HEADER_SECONDS", "BODY_SECONDS", "WRITE_SECONDS"):
        monkeypatch.setattr(connections, name, 60.0)


@pytest.mark.usefixtures("long_limits")
@pytest.mark.parametrize("method", ["HEAD", "POST"])
def test_malformed_bodies_stop_no_turns_and_are_no_errors_of_ours(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    protocol = limited_protocol(1000)
    with running(protocol) as port, ExitStack() as closing:
        for _ in range(HALF_OPEN):  # more than one turn parses
            line = closing.enter_context(socket.create_connection(("127.0.0.1", port)))
            line.sendall(chunked(method, "/echo") + b"no length\r\n")
        for _ in range(3):
            reply = requests.post(f"http://127.0.0.1:{port}/echo", b"x", timeout=10)
            assert reply.json() == 1
        assert is_closed(line)
    assert [each for each in caplog.records if each.levelname == "ERROR"] == []


@pytest.mark.usefixtures("long_limits")
def test_an_error_in_a_turn_closes_one_connection_and_stops_no_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    protocol = limited_protocol(1000)
    monkeypatch.setattr(protocol.turns, "take_now", lambda: False)
    parse = LimitedProtocol._parse

    def fail(self: LimitedProtocol, data: bytes) -> None:
        if data.startswith(b"FAIL "):
            raise LookupError
        parse(self, data)

    monkeypatch.setattr(LimitedProtocol, "_parse", fail)
    with (
        running(protocol) as port,
        socket.create_connection(("127.0.0.1", port)) as line,
    ):
        line.sendall(b"FAIL ")
        assert is_closed(line)
        reply = requests.post(f"http://127.0.0.1:{port}/echo", b"x", timeout=10)
        assert reply.json() == 1


@pytest.mark.usefixtures("long_limits")
@pytest.mark.parametrize("path", ["/echo", "/health"])
def test_many_small_chunks_are_parsed_in_small_parts(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol, parts = limited_protocol(1000), list[int]()
    parse = LimitedProtocol._parse

    def noted(self: LimitedProtocol, data: bytes) -> None:
        parts.append(len(data))
        parse(self, data)

    monkeypatch.setattr(LimitedProtocol, "_parse", noted)
    body = 10_000 * b"1\r\nx\r\n" + b"0\r\n\r\n"
    with (
        running(protocol) as port,
        socket.create_connection(("127.0.0.1", port)) as line,
    ):
        line.sendall(chunked("POST", path) + body)
        wanted = b"10000" if path == "/echo" else b"404 Not Found"
        found = b""
        line.settimeout(60)
        while wanted not in found and (part := line.recv(1000)):
            found += part
        assert wanted in found
    assert max(parts) <= PART_BYTES


@pytest.mark.usefixtures("long_limits")
def test_only_a_short_health_check_is_read_out_of_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    protocol, later = limited_protocol(1000), list[object]()
    monkeypatch.setattr(protocol.turns, "take_now", lambda: False)
    call = protocol.turns.call_later
    monkeypatch.setattr(
        protocol.turns, "call_later", lambda each: (later.append(each), call(each))
    )
    with running(protocol) as port:
        for header, waits in (("x", 0), (1000 * "x", 1)):
            later.clear()
            address = f"http://127.0.0.1:{port}/health"
            assert requests.get(address, headers={"X": header}, timeout=10).status_code == 404
            assert len(later) == waits


def test_an_ordinary_request_is_not_ended_and_a_slow_one_may_take_its_time() -> None:
    with running(limited_protocol(MOST)) as port, requests.Session() as session:
        for _ in range(3):
            reply = session.post(f"http://127.0.0.1:{port}/echo", b"x" * 10**5, timeout=30)
            assert reply.json() == 10**5
        with socket.create_connection(("127.0.0.1", port)) as line:
            for part in (HEADERS, b"\r\n12345", b"67890"):
                line.sendall(part)
                time.sleep(SOON / 3)
            assert b"200 OK" in line.recv(1000)


def test_half_open_connections_displace_each_other(
    monkeypatch: pytest.MonkeyPatch, bar: Bar
) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS", 60.0)
    with running(limited_protocol(MOST)) as port, ExitStack() as closing:
        held = [
            closing.enter_context(socket.create_connection(("127.0.0.1", port)))
            for _ in range(HALF_OPEN)
        ]
        time.sleep(0.5)
        reply = requests.post(f"http://127.0.0.1:{port}/echo", b"x", timeout=30)
        assert reply.json() == 1
        closed = sum(is_closed(line, 0.05) for line in held)
    name = f"{HALF_OPEN} half-open connections, {MOST} allowed: closed"
    wanted = HALF_OPEN - MOST
    bar(name, closed, f"at least {wanted}", closed >= wanted)


def parsed_in_turns(protocol: type[H11Protocol], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is parsed in each turn of a loop, where many requests wait, a health check last."""
    turns: list[str] = [""]
    parse = LimitedProtocol._parse

    def noted(self: LimitedProtocol, data: bytes) -> None:
        turns[-1] += "h" if data.startswith(b"GET /health ") else "x"
        parse(self, data)

    monkeypatch.setattr(LimitedProtocol, "_parse", noted)

    async def run() -> None:
        app = FastAPI()
        config = uvicorn.Config(app, http=protocol, ws="none", lifespan="off")
        config.load()
        state, loop = uvicorn.Server(config).server_state, asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: protocol(config=config, server_state=state, app_state={}),
            "127.0.0.1",
            backlog=ACCEPT_AT_ONCE,
        )
        [address] = server.sockets
        lengthen_backlog(address)
        with ExitStack() as closing:
            for number in range(HALF_OPEN):
                line = closing.enter_context(socket.create_connection(address.getsockname()))
                path = "health" if number == HALF_OPEN - 1 else "v1/status"
                line.sendall(f"GET /{path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
            while sum(map(len, turns)) < HALF_OPEN:
                await asyncio.sleep(0)
                turns.append("")
        server.close()

    asyncio.run(asyncio.wait_for(run(), 20))
    return turns


def test_requests_are_read_a_few_in_each_turn_and_a_health_check_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns = parsed_in_turns(limited_protocol(1000), monkeypatch)
    assert max(turn.count("x") for turn in turns) == READ_AT_ONCE
    order = "".join(turns)
    # it was accepted last, when eight new ones a turn had come, and four of them were read
    assert order.index("h") < 3 * HALF_OPEN // 4
    assert (len(order), order.count("h")) == (HALF_OPEN, 1)


def test_without_turns_all_that_arrived_is_read_first(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = limited_protocol(1000)
    monkeypatch.setattr(protocol, "turns", Turns(1000))
    turns = parsed_in_turns(protocol, monkeypatch)
    assert max(turn.count("x") for turn in turns) > READ_AT_ONCE
    assert "".join(turns).endswith("h")


def test_a_body_that_waits_for_its_turn_arrives_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = limited_protocol(1000)
    # nothing is ever read at once
    monkeypatch.setattr(protocol.turns, "take_now", lambda: False)
    body = b"x" * 300_000
    with running(protocol) as port:
        for _ in range(3):
            told = requests.post(f"http://127.0.0.1:{port}/echo", data=body, timeout=20)
            assert told.json() == len(body)
