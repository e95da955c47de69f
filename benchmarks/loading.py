"""Clients that keep servers busy for a while, and the same endpoint without Tacit's work."""

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from threading import Lock, Thread

import duckdb
import uvicorn
from fastapi import FastAPI
from fastapi.responses import JSONResponse
from instances import PATIENCE

from tacit.server.messages import PricedQuestion

PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024
_numbers = count(1)


@dataclass
class Load:
    """What clients saw: milliseconds of each answer, receipts, and what went wrong."""

    seconds: float
    milliseconds: list[float] = field(default_factory=list)
    receipts: list[str] = field(default_factory=list)
    sent: int = 0
    failed: int = 0

    @property
    def per_second(self) -> float:
        """Answers a second."""
        return len(self.milliseconds) / self.seconds


def question() -> str:
    """A question that nobody asked before."""
    return f"SELECT city, COUNT(*) AS n FROM people WHERE id <> {next(_numbers)} GROUP BY city"  # noqa: S608


def loaded(ports: list[int], token: str, clients: int, seconds: float) -> Load:
    """As many clients as are said ask new questions, each on its own line."""
    load, lock, until = Load(seconds), Lock(), time.monotonic() + seconds
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(port: int) -> None:
        line = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        while time.monotonic() < until:
            with lock:
                body = json.dumps({"sql": question(), "rho": "0.001"})
                load.sent += 1
            began = time.perf_counter()
            try:
                line.request("POST", "/v1/ask", body, headers)
                response = line.getresponse()
                told = json.loads(response.read())
            except (OSError, HTTPException):
                line.close()
                load.failed += 1
                continue
            with lock:
                if response.status == 200:
                    load.milliseconds.append(1000 * (time.perf_counter() - began))
                    load.receipts.append(told.get("receipt", ""))
                else:
                    load.failed += 1
        line.close()

    threads = [Thread(target=call, args=(ports[n % len(ports)],)) for n in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return load


@contextmanager
def bare_servers(table: Path, servers: int) -> Iterator[list[int]]:
    """The same endpoint, asked the same way, which runs the text on DuckDB and no more."""
    with ExitStack() as ending:
        ports = []
        for _ in range(servers):
            bound = ending.enter_context(_listening())
            process = get_context("fork").Process(target=_bare, args=(table, bound))
            process.start()
            ending.callback(process.join)
            ending.callback(process.kill)
            ports.append(bound.getsockname()[1])
        yield ports


def _listening() -> socket.socket:
    """A socket that asyncio knows as TCP's, and so sends what is written to it at once."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.bind(("127.0.0.1", 0))
    bound.listen(2048)
    return bound


def _bare(table: Path, bound: socket.socket) -> None:
    app, database = FastAPI(), duckdb.connect(str(table), read_only=True)

    @app.post("/v1/ask")
    def ask(given: PricedQuestion) -> JSONResponse:
        found = database.cursor().execute(given.sql)
        names = [each[0] for each in found.description or ()]
        columns = zip(*found.fetchall(), strict=True)
        return JSONResponse({"columns": dict(zip(names, columns, strict=True))})

    config = uvicorn.Config(app, log_level="error", access_log=False)
    uvicorn.Server(config).run(sockets=[bound])


def megabytes(pids: list[int]) -> float:
    """What these processes and all below them hold in memory."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has just ended
    found = set(pids)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return sum(_resident(pid) for pid in found) / 1024


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_KB
    except OSError:
        return 0


def median_ms(work: Callable[[], object], times: int) -> float:
    """The usual milliseconds of ``work``."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append(1000 * (time.perf_counter() - began))
    return sorted(taken)[times // 2]
