"""A running server with delays, seen by an attacker while an engine is fast or slow.

The worker of a question is stopped by a signal, for a tenth of a second on one side and for one
step of the grid more on the other, as if one person had moved its time by `person_ms`. The
delay is drawn one step shorter on the other side, which is what the law of delays makes likely.
Then everything that an attacker can get from the server must be equal: what each route says
before and after the slow engine is done, when answers and the next questions leave, what
repeats, other principals, cancelled connections and other keys get, and what the log and the
ledger have. `tests/unit/query/test_coupled_times.py` does the same by a clock of its own.
"""

import json
import os
import re
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from threading import Event, Timer
from typing import Any

import duckdb
import pytest
from prepared import FILE, ROWS, TEXT
from serving import Server, running

from tacit.query import worker_pool as pools
from tacit.query.held_place import HeldPlace
from tacit.query.worker_pool import LeasedWorker
from tacit.server.app import make_app, watched_app
from tacit.server.token_policy import Role
from tacit.session.project import apply_project, open_for_serving

STEP, LIMIT = 0.5, 13
"""Seconds of a step, and of the time limit of a question."""
TRIES = 3
"""On a busy machine, a client may receive an answer a step late. What the server reveals is
seen each time."""

FAST, SLOW = 0.1, 0.1 + STEP
LOOKS = (0.35, 0.85, 1.3)
"""When the attacker looks: after the fast engine is done and before the slow one is, and on."""
DELAY = f"""kind = "delay"
person_ms = {round(1000 * STEP)}
places = 2
share = 0.5
floor_ms = 0
delta = "1e-7"
"""
BUDGET = 'budget = { epsilon = 3, delta = "1e-6" }'
CAP = 'budget = { rho = 10000, delta = "1e-3", conversion_delta = "1e-6" }'
SETTINGS = f"""[server]
seconds = {LIMIT}
requests_per_minute = 1000000
limits = {{ questions_of_principal = 3 }}
"""
COUNT = "SELECT COUNT(*) AS n FROM visits WHERE cost > {}"
PAID = {"epsilon": None, "rho": "1"}
VARIES = re.compile(
    r"[0-9a-f]{24,64}|question [0-9a-f]{8}|\d\d:\d\d:\d\d|\d{13}|\d+\.\d+"
    r"|cost > \d+|\d+ (ms|s)\b|epsilon [\d.]+"
)
"""Hashes, times, sums of seconds and noise."""


@dataclass
class Trouble:
    """What happens to the worker of the next question, and the delay of this question."""

    happens: Callable[[int, float], None]
    seconds: float
    delay: int
    began: float = 0
    begins: Event = field(default_factory=Event)


OTHERS = 2
"""The delay of all other questions, in steps."""


class Stage:
    """A server over workers that can be stopped, and the delays that it draws."""

    def __init__(self, server: Server, patch: pytest.MonkeyPatch) -> None:
        self.server = server
        self.numbers = iter(range(1, 91))
        self._next: list[Trouble] = []
        self._delays = {}
        run = LeasedWorker.run

        def troubled(leased: LeasedWorker, *given: Any) -> bytes:
            if self._next:
                self._delay = self._next[0].delay
                trouble = self._next.pop()
                child = leased._worker._child
                assert child is not None
                trouble.began = time.monotonic()
                trouble.begins.set()
                trouble.happens(child[0].pid or 0, trouble.seconds)
            return run(leased, *given)

        self._delay = OTHERS

        def draw(*_: object) -> int:
            drawn, self._delay = self._delay, OTHERS
            return drawn

        patch.setattr(LeasedWorker, "run", troubled)
        patch.setattr(pools, "draw_delay", draw)

    def plan(self, trouble: Trouble) -> None:
        """Let ``trouble`` happen to the next question that starts."""
        self._next = [trouble]


@contextmanager
def staged(folder: Path) -> Iterator[Stage]:
    """A new server, which starts as every other does."""
    folder.mkdir()
    with duckdb.connect(str(folder / "clinic.duckdb")) as owner:
        owner.execute(ROWS)
    file = folder / "tacit.toml"
    text = TEXT.replace("ENGINE", FILE).replace('kind = "open"', DELAY)
    assert BUDGET in text
    text = text.replace(BUDGET, CAP)
    file.write_text(f"{SETTINGS}{text}")
    apply_project(file, by="olga")
    curator, settings = open_for_serving(file, {})
    log: list[str] = []
    with (
        pytest.MonkeyPatch.context() as patch,
        running(watched_app(make_app(curator, settings), log.append)) as address,
    ):
        yield Stage(Server(address, curator, log), patch)


def masked(text: str) -> str:
    return VARIES.sub("…", text)


@dataclass
class Attacker:
    """Somebody with many tokens, who notes everything that the server says, and when."""

    began: float
    seen: list[tuple[Any, ...]] = field(default_factory=list)

    def note(self, what: str, response: Any, *, timed: bool = True) -> None:
        """Note an answer with the step of the grid in which it came."""
        headers = {name.lower(): value for name, value in response.headers.items()}
        headers.pop("date", None)
        if "metrics" in what or response.status_code == 200:
            headers.pop("content-length", None)
        # answers leave on the grid, and have a step for the way to the client
        at = int((time.monotonic() - self.began) / STEP) if timed else None
        self.seen.append(
            (
                what,
                response.status_code,
                str(sorted(headers.items())),
                masked(shown(response)),
                at,
            )
        )


def shown(response: Any) -> str:
    """The text of an answer, without its numbers with noise."""
    try:
        told = response.json()
    except ValueError:
        return str(response.text)
    if isinstance(told, dict) and "columns" in told and "receipt" in told:
        told["columns"] = list(told["columns"])
        # the next question may be charged before or after the budget is read
        told.pop("standing")
    return json.dumps(told, sort_keys=True)


def look(server: Server, attacker: Attacker, at: float, question: str) -> None:
    """Ask every route that may know of the question, and send it again."""
    time.sleep(max(0, attacker.began + at - time.monotonic()))
    tokens = {
        role: server.token(f"{role.value} eve", role) for role in (Role.OPERATOR, Role.AUDITOR)
    }
    eve, olga = server.token("eve"), server.token("olga", Role.OWNER)
    for path, token in (
        ("/health", None),
        ("/ready", None),
        ("/metrics", tokens[Role.OPERATOR]),
        ("/v1/status", eve),
        ("/v1/status", server.token("ann")),
        ("/v1/status", olga),
        ("/v1/ledger/patients/history", olga),
        ("/v1/ledger/patients", tokens[Role.AUDITOR]),
        ("/v1/datasets", eve),
    ):
        response = server.call("GET", path, token)
        text = "\n".join(
            line
            for line in response.text.splitlines()
            if "bucket" not in line and "_sum" not in line
        )
        attacker.seen.append((at, path, response.status_code, masked(text)))
    quoted = server.call("POST", "/v1/quote", eve, json={"sql": question, "rho": "1"})
    attacker.seen.append((at, "quote", quoted.status_code, masked(quoted.text)))
    entries = server.curator.home.ledger.entries("patients")
    attacker.seen.append((at, "ledger", str([masked(each.body) for each in entries[2:]])))


def cancelled(server: Server, token: str, sql: str) -> None:
    """Send a question after the others, and close the connection soon."""
    time.sleep(0.2)
    host, port = server.address.removeprefix("http://").split(":")
    body = json.dumps({"sql": sql, "rho": "1"}).encode()
    with socket.create_connection((host, int(port))) as line:
        line.sendall(
            b"POST /v1/ask HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Authorization: Bearer " + token.encode() + b"\r\n"
            b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body
        )
        time.sleep(0.3)


def slow(child: int, seconds: float) -> None:
    """Let the engine take this long."""
    os.kill(child, signal.SIGSTOP)
    Timer(seconds, os.kill, (child, signal.SIGCONT)).start()


def killed(child: int, seconds: float) -> None:
    """Let the worker die after this time, without an answer."""
    os.kill(child, signal.SIGSTOP)
    Timer(seconds, os.kill, (child, signal.SIGKILL)).start()


def hung(child: int, seconds: float) -> None:
    """Let the worker end after the limit on one side, and shortly before it on the other."""
    os.kill(child, signal.SIGSTOP)
    if seconds == FAST:
        Timer(LIMIT - 1, os.kill, (child, signal.SIGCONT)).start()


def attack(stage: Stage, trouble: Trouble) -> list[tuple[Any, ...]]:
    """What an attacker sees during and after a question, and the log of it."""
    server, numbers = stage.server, stage.numbers
    lines = len(server.log)
    number = next(numbers)
    question, other, later = (
        COUNT.format(each) for each in (number, next(numbers), next(numbers))
    )
    ann, bob, eve = (server.token(who) for who in ("ann", "bob", "eve"))
    stage.plan(trouble)
    with ThreadPoolExecutor(16) as threads:
        attacker = Attacker(time.monotonic())

        def ask(
            what: str, token: str, sql: str, *, timed: bool = True, **more: Any
        ) -> Future[None]:
            def send() -> None:
                attacker.note(what, server.ask(token, sql, **PAID, **more), timed=timed)

            return threads.submit(send)

        first = ask("first", ann, question, key=f"key {number}")
        assert trouble.begins.wait(20), attacker.seen
        attacker.began = trouble.began
        ask("key of another question", ann, other, key=f"key {number}").result()
        rest = [
            ask("same key", ann, question, key=f"key {number}"),
            # a new worker starts first where one hung, which may take long on a busy machine
            ask("next in line", ann, later, timed=trouble.happens is not hung),
        ]
        if trouble.happens is not hung:  # else one of those who waited is charged anew
            rest += [
                ask("another principal", eve, question),
                threads.submit(cancelled, server, bob, question),
            ]
        for at in LOOKS:
            look(server, attacker, at, question)
            # her three questions are not answered yet
            rest.append(ask("one too many", ann, other, timed=False))
        for each in (first, *rest):
            each.result()
    attacker.note("repeat", server.ask(ann, question, key=f"key {number}", **PAID), timed=False)
    look(server, attacker, 0, question)
    time.sleep(0.3)
    return attacker.seen + [_log_line(each) for each in server.log[lines:]]


def _log_line(line: str) -> tuple[Any, ...]:
    found = json.loads(line)
    if "below" in found:
        return ("below", found["below"], found["stage"])
    return (found["route"], found["status"])


@pytest.mark.parametrize("happens", [slow, killed, hung])
def test_an_attacker_sees_the_same_of_a_fast_engine_and_of_a_slow_one(
    happens: Callable[[int, float], None], tmp_path: Path
) -> None:
    found: list[str] = []
    for attempt in range(TRIES):
        with staged(tmp_path / f"fast {attempt}") as stage:
            fast = attack(stage, Trouble(happens, FAST, 3))
        with staged(tmp_path / f"slow {attempt}") as stage:
            slower = attack(stage, Trouble(happens, SLOW, 2))
        if not (found := differences(fast, slower)):
            break
    assert not found, "\n".join(found)


def test_an_attacker_tells_them_apart_if_answers_leave_when_they_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lie: a place is given back at the engine's result."""
    monkeypatch.setattr(HeldPlace, "leaves", property(lambda place: place._answer or 0))
    with staged(tmp_path / "fast") as stage:
        fast = attack(stage, Trouble(slow, FAST, 3))
    with staged(tmp_path / "slow") as stage:
        slower = attack(stage, Trouble(slow, SLOW, 2))
    assert any("first" in each or "ledger" in each for each in differences(fast, slower))


def differences(one: list[tuple[Any, ...]], another: list[tuple[Any, ...]]) -> list[str]:
    """What was seen of one side alone, in short."""
    apart = Counter(one)
    apart.subtract(Counter(another))
    only = [sorted(str(each) for each, n in apart.items() if n * way > 0) for way in (1, -1)]
    found = []
    for first, second in zip_longest(*only, fillvalue=""):
        pairs = enumerate(zip(first, second, strict=False))
        at = next((place for place, (a, b) in pairs if a != b), 0)
        parts = (each[max(0, at - 20) : at + 40] for each in (first, second))
        found.append(f"{first[:30]}: {' | '.join(parts)}")
    return found
