"""Clients of servers that are killed: what they received is the truth."""

import json
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from itertools import count
from threading import Event, Lock, Thread
from typing import Self

from instances import PATIENCE, Instance

EXACT = "application/vnd.tacit.release+json"
RHO = "0.001"
"""What each question costs."""

PAUSE = 0.02
"""Seconds after which a client that was cut off asks again: no server is a quick refusal."""


@dataclass
class Truth:
    """What was sent under which number, and what came back."""

    sent: list[int] = field(default_factory=list)
    received: dict[int, str] = field(default_factory=dict)
    """The exact release, by the number of its question."""
    statuses: Counter[int] = field(default_factory=Counter)
    """0 stands for a connection that was cut."""


def ask(port: int, token: str, number: int) -> tuple[int, str]:
    """The status of a question of its own, under a key of its own, and what was released."""
    sql = f"SELECT COUNT(*) AS n FROM people WHERE id < {number}"  # noqa: S608
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": EXACT,
        "Idempotency-Key": f"key {number}",
    }
    with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        body = json.dumps({"sql": sql, "rho": RHO})
        connection.request("POST", "/v1/ask", body, headers)
        response = connection.getresponse()
        told = json.loads(response.read())
    return response.status, json.dumps(told.get("release", told), sort_keys=True)


class Callers:
    """Threads that ask one new question after the other while ``asking`` is set."""

    def __init__(self, servers: list[Instance], token: str, threads: int = 3) -> None:
        self.truth = Truth()
        self._servers = servers
        self._token = token
        self._numbers = count(1)
        self._lock, self._over, self.asking = Lock(), Event(), Event()
        self._threads = [Thread(target=self._call) for _ in range(threads)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.asking.set()
        for thread in self._threads:
            thread.join()

    def _call(self) -> None:
        while self.asking.wait() and not self._over.is_set():
            with self._lock:
                number = next(self._numbers)
                self.truth.sent.append(number)
            server = self._servers[number % len(self._servers)]
            try:
                status, told = ask(server.port, self._token, number)
            except (OSError, HTTPException, ValueError):
                status, told = 0, ""
                time.sleep(PAUSE)
            with self._lock:
                self.truth.statuses[status] += 1
                if status == 200:
                    self.truth.received[number] = told


def ask_again(truth: Truth, answering: Callable[[int], tuple[int, str]]) -> Counter[str]:
    """The same requests again: the same bytes, or, where none came, an answer or its loss."""
    found: Counter[str] = Counter()
    for number in truth.sent:
        status, told = answering(number)
        before = truth.received.get(number)
        if before is not None:
            found["the same" if (status, told) == (200, before) else "changed"] += 1
        else:
            found[{200: "answered", 410: "lost"}.get(status, f"status {status}")] += 1
    return found
