"""Ten abuses of a server: does it still answer health checks, tokens and paid questions?

`TACIT_FREEZE_SECONDS` says how long each abuse lasts, `TACIT_FREEZE_ROWS` how many rows the
slow question reads, and `TACIT_FREEZE_SHARE` is for a share of the clients. The server is
`tacit serve` itself, with its ledger in PostgreSQL. Two processes of their own watch it all the
time: one asks for `/health`, the other lists the datasets with a local token. Each abuse prints
the time that 99 of 100 health checks stayed below, beside that of an idle server before the
abuses. The bars hold on a machine that does nothing else.
"""

import json
import os
import resource
import socket
import subprocess
import sys
import time
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest
import requests
from conftest import Bar
from instances import KEY, Command
from serving import ALL, BUDGET, make_project

from tacit.ledger.entries import Charged, decode_act
from tacit.ledger.ledger import wall_clock
from tacit.server.token_policy import Role
from tacit.store.connect import open_store
from tacit.store.tokens import AccessToken, Tokens

SECONDS = float(os.environ.get("TACIT_FREEZE_SECONDS", "20"))
ONLY = os.environ.get("TACIT_FREEZE_ONLY", "").split()
SLOW_ROWS = int(os.environ.get("TACIT_FREEZE_ROWS", "3000000"))
HEALTH_MS, TOKEN_MS = 50.0, 1000.0
SHARE = float(os.environ.get("TACIT_FREEZE_SHARE", "1"))
COPIES, CLIENTS, HALF_OPEN, STALLED, LARGE_BODIES, AUDITORS, OVER, ROOM = (
    round(SHARE * number) for number in (60, 200, 1500, 300, 40, 40, 300, 256)
)
"""Clients of each abuse; the last two are questions at once, and the room of the queue."""

GONE_SECONDS = 20.0
NICENESS = int(os.environ.get("TACIT_FREEZE_NICENESS", "10"))
"""How far the clients stand back behind the server; its workers have a niceness of 5."""

PATIENCE = 300
LARGE = 'rho = 1000000, conversion_delta = "1e-6"'
ROWS = (
    "CREATE TABLE people AS SELECT range AS id, 'p' || range AS person, "  # noqa: S608
    "CASE range % 2 WHEN 0 THEN 'Bern' ELSE 'Ulm' END AS city FROM range(10000);"
    "CREATE TABLE visits AS SELECT range % 10000 AS patient, DATE '2026-02-01' AS day, "
    f"(range % 80)::DECIMAL(9, 2) AS cost FROM range({SLOW_ROWS});"
    "CREATE TABLE shifts AS SELECT 'n' || range AS nurse, 8::BIGINT AS hours FROM range(10)"
)
QUICK = "SELECT city, COUNT(*) AS n FROM people WHERE id <> {} GROUP BY city"
SLOW = "SELECT MEDIAN(cost) AS m, VARIANCE(cost) AS v FROM visits WHERE patient <> {}"
_numbers = count(10**6)

PROBE = """
import http.client, json, sys, time
port, path, token, pause = int(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])
headers = {"Authorization": "Bearer " + token} if token else {}
while True:
    began, status = time.time(), 0
    try:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        line.request("GET", path, headers=headers)
        reply = line.getresponse()
        reply.read()
        status = reply.status
        line.close()
    except (OSError, http.client.HTTPException):
        pass
    print(json.dumps([began, 1000 * (time.time() - began), status]), flush=True)
    time.sleep(pause)
"""


@dataclass
class Watched:
    """A server, the tokens of its callers, and what it told them."""

    server: Command
    tokens: Callable[[str, Role], str]
    health: Path
    datasets: Path
    told: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)

    def call(self, method: str, path: str, token: str, **more: Any) -> requests.Response | None:
        """One request; None if the connection was cut."""
        headers = {"Authorization": f"Bearer {token}"} | more.pop("headers", {})
        address = f"http://127.0.0.1:{self.server.port}{path}"
        try:
            return requests.request(method, address, headers=headers, timeout=PATIENCE, **more)
        except requests.RequestException:
            return None

    def ask(self, who: str, sql: str, key: str) -> int:
        """Ask until there is an answer or a refusal, as a client does; its status."""
        ends, sent = time.monotonic() + PATIENCE, {"sql": sql, "rho": "0.001"}
        token = self.tokens(who, Role.ANALYST)
        while True:
            reply = self.call(
                "POST", "/v1/ask", token, json=sent, headers={"Idempotency-Key": key}
            )
            status = 0 if reply is None else reply.status_code
            self.statuses[status] += 1
            if reply is not None and status == 200:
                self.told.setdefault(key, (sql, str(reply.json()["columns"]).encode()))
                return status
            if status not in {0, 409, 429, 503} or time.monotonic() > ends:
                self.told.setdefault(key, (sql, b""))
                return status
            time.sleep(1)

    def ask_new(self, who: str = "ann", form: str = QUICK) -> int:
        """Ask a question that nobody asked before."""
        number = next(_numbers)
        return self.ask(who, form.format(number), f"{who} {number}")


def figures(log: Path, since: float) -> tuple[float, float, Counter[int]]:
    """The 99th percentile, the worst time, and the statuses that a probe saw since then."""
    seen = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("]")]
    found = [each for each in seen if each[0] >= since]
    taken = sorted(each[1] for each in found)
    statuses = Counter(each[2] for each in found)
    if not taken:  # the first check since then has not ended
        return float("inf"), float("inf"), statuses
    return taken[min(len(taken) - 1, int(0.99 * len(taken)))], taken[-1], statuses


def many(work: Callable[[int], Any], number: int) -> list[Any]:
    """The results of ``work`` for each of so many clients at once."""
    with ThreadPoolExecutor(number) as clients:
        return list(clients.map(work, range(number)))


def again(work: Callable[[], Any]) -> Callable[[int], None]:
    """A client that works until the abuse ends."""
    ends = time.monotonic() + SECONDS

    def client(_: int) -> None:
        while time.monotonic() < ends:
            work()

    return client


# ------------------------------------------------------------------ the ten abuses


def slow_copies(at: Watched) -> None:
    """One slow question, sent sixty times; and quick ones of another analyst beside them."""
    number = next(_numbers)
    sql = SLOW.format(number)

    def client(place: int) -> int:
        return at.ask("ann", sql, f"copies {number}") if place else at.ask_new("cid")

    assert set(many(client, COPIES + 1)) == {200}


def honest_clients(at: Watched) -> None:
    """Two hundred analysts, each of whom asks three questions."""
    found = many(lambda n: [at.ask_new(f"analyst {n}") for _ in range(3)], CLIENTS)
    assert {status for statuses in found for status in statuses} == {200}


def hanging_provider(at: Watched) -> None:
    """Strangers with tokens of an identity provider that hangs since the server started."""
    parts = [b'{"alg": "ES256", "kid": "new"}', b'{"sub": "ann"}', b"no signature"]
    token = ".".join(urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)
    many(again(lambda: at.call("GET", "/v1/status", token)), COPIES)


def half_open(at: Watched) -> None:
    """Connections on which nothing, or half of a header, is sent."""
    with ExitStack() as closed:
        for number in range(HALF_OPEN):
            with suppress(OSError):
                line = socket.create_connection(("127.0.0.1", at.server.port), timeout=5)
                closed.callback(line.close)
                line.sendall(b"" if number % 2 else b"GET /health HTTP/1.1\r\nHost:")
        time.sleep(SECONDS)
        assert at.ask_new() == 200


def stalled_bodies(at: Watched) -> None:
    """Requests with a token whose bodies do not arrive."""
    head = (
        "POST /v1/ask HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {at.tokens('eve', Role.ANALYST)}\r\n"
        'Content-Length: 1000\r\n\r\n{"sql": "SEL'
    ).encode()
    with ExitStack() as closed:
        for _ in range(STALLED):
            line = socket.create_connection(("127.0.0.1", at.server.port), timeout=5)
            closed.callback(line.close)
            line.sendall(head)
        time.sleep(SECONDS)
        assert at.ask_new() == 200


def large_bodies(at: Watched) -> None:
    """Bodies as long as is allowed, and longer."""
    token, sizes = at.tokens("eve", Role.ANALYST), (2**18 - 100, 2**24)

    def send() -> None:
        body = json.dumps({"sql": "x" * sizes[next(_numbers) % 2]})
        at.call("POST", "/v1/quote", token, data=body)

    many(again(send), LARGE_BODIES)


def verify_storm(at: Watched) -> None:
    """Auditors who verify a whole chain again and again."""
    token = at.tokens("abe", Role.AUDITOR)
    many(again(lambda: at.call("GET", "/v1/ledger/patients/verify", token)), AUDITORS)


def full_queue(at: Watched) -> None:
    """More questions at once than there is room for; clients send them again."""
    before = at.statuses[503]
    assert set(many(lambda n: at.ask_new(f"sender {n % 4}"), OVER)) == {200}
    assert at.statuses[503] > before, "the queue was never full"


def dead_workers(at: Watched) -> None:
    """Idle workers that are killed, one after the other; questions in between."""
    ends = time.monotonic() + SECONDS
    while time.monotonic() < ends:
        for worker in workers_of(at.server.pid):
            with suppress(ProcessLookupError):
                os.kill(worker, SIGKILL)
        assert at.ask_new() == 200


def workers_of(pid: int) -> list[int]:
    """The worker processes of a server: the children of its fork server."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    below = [child for child, parent in parents.items() if parent == pid]
    return [child for child, parent in parents.items() if parent in below]


def lost_store(at: Watched, cluster: Any) -> None:
    """A store that is away for 20 seconds while questions are computed."""
    with ThreadPoolExecutor(8) as clients:
        asked = [clients.submit(at.ask_new, f"analyst {n}", SLOW) for n in range(4)]
        asked += [clients.submit(at.ask_new, f"analyst {n}") for n in range(4)]
        time.sleep(0.5)
        cluster.stop()
        time.sleep(GONE_SECONDS)
        cluster.start()
        found = {each.result() for each in asked}
    assert found == {200}, found


ABUSES: dict[str, Callable[..., None]] = {
    f"{COPIES} copies of a slow question": slow_copies,
    f"{CLIENTS} honest clients": honest_clients,
    "a hanging identity provider": hanging_provider,
    f"{HALF_OPEN} half-open connections": half_open,
    f"{STALLED} stalled bodies": stalled_bodies,
    "large bodies": large_bodies,
    "a storm of verifications": verify_storm,
    "a full queue": full_queue,
    "dead workers": dead_workers,
    "a store that is gone for 20 s": lost_store,
}


@pytest.fixture
def watched(tmp_path: Path, new_store: Callable[[str], str]) -> Iterator[Watched]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    address = new_store("postgresql")
    with ExitStack() as ending:
        silent = ending.enter_context(socket.create_server(("127.0.0.1", 0), backlog=2000))
        keys = f"http://127.0.0.1:{silent.getsockname()[1]}/keys"
        more = (
            "[server]\nprocesses = 2\nrequests_per_minute = 100000000\n"
            f"[server.limits]\nquestions_of_population = {ROOM}\n"
            f'[server.oidc]\nissuer = "https://id"\naudience = "tacit"\nkeys = "{keys}"\n'
            f'[store]\naddress = "{address}"\n'
        )
        file = make_project(tmp_path / "clinic", ROWS, more, KEY, {BUDGET: LARGE})
        store = ending.enter_context(closing(open_store(address)))
        issued: dict[tuple[str, Role], str] = {}

        def token(who: str, role: Role) -> str:
            until = wall_clock() + 10**9
            if (who, role) not in issued:
                made = AccessToken(who, role.value, ALL.text, until)
                issued[who, role] = Tokens(store).issue(made)
            return issued[who, role]

        for who in ("ann", "cid", "eve", *(f"analyst {n}" for n in range(CLIENTS))):
            token(who, Role.ANALYST)  # before the store is gone
        server = Command(file, tmp_path / "logs", KEY)
        ending.callback(server.kill)
        server.ready()
        health, datasets = tmp_path / "health", tmp_path / "datasets"
        own = token("cid", Role.ANALYST)
        probes = [(health, "/health", "", 0.02), (datasets, "/v1/datasets", own, 0.1)]
        for log, path, given, pause in probes:
            ending.enter_context(probe(log, [server.port, path, given, pause]))
        yield Watched(server, token, health, datasets)


@contextmanager
def probe(log: Path, arguments: list[Any]) -> Iterator[None]:
    """A process that asks one route again and again, and writes down how long it took."""
    command = [sys.executable, "-c", PROBE, *map(str, arguments)]
    with log.open("w") as seen, subprocess.Popen(command, stdout=seen) as process:
        try:
            yield
        finally:
            process.kill()


def test_no_abuse_freezes_a_server(watched: Watched, request: Any, bar: Bar) -> None:
    with ThreadPoolExecutor(1, initializer=os.nice, initargs=(NICENESS,)) as behind:
        behind.submit(abuse_in_turn, watched, request, bar).result()


def abuse_in_turn(watched: Watched, request: Any, bar: Bar) -> None:
    """Send the ten abuses, each on its own; clients inherit the priority of this thread."""
    assert watched.ask_new() == 200
    began = time.time()
    time.sleep(min(SECONDS, 10))
    p99, worst, _ = figures(watched.health, began)
    bar(
        "ms of /health on an idle server, p99 and worst",
        f"{p99:.1f}, {worst:.1f}",
        "-",
        ok=True,
    )
    for name, abuse in ABUSES.items():
        if ONLY and abuse.__name__ not in ONLY:
            continue
        began = time.time()
        if abuse is lost_store:
            abuse(watched, request.getfixturevalue("cluster"))
        else:
            abuse(watched)
        p99, worst, statuses = figures(watched.health, began)
        said = f"{p99:.1f} (worst {worst:.0f}), {dict(statuses)}"
        fine = p99 < HEALTH_MS and set(statuses) == {200}
        bar(f"ms of /health beside {name}, p99", said, f"< {HEALTH_MS:.0f}", fine)
        p99, worst, statuses = figures(watched.datasets, began)
        served = abuse is lost_store or set(statuses) == {200}
        said = f"{p99:.0f} (worst {worst:.0f}), {dict(statuses)}"
        bar(f"ms of a local token beside {name}", said, "< 1000", served and p99 < TOKEN_MS)
    show_answers(watched, bar)


def show_answers(at: Watched, bar: Bar) -> None:
    """Ask everything again: what was paid for is there, the same, and charged once."""
    lost = changed = 0
    charges = charged_requests(at)
    for key, (sql, columns) in list(at.told.items()):
        who = key.rpartition(" ")[0].replace("copies", "ann")
        del at.told[key]
        lost += at.ask(who, sql, key) != 200
        changed += columns not in {b"", at.told[key][1]}
    bar(f"of {len(at.told)} paid answers, lost", lost, "0", lost == 0)
    bar("answers that changed", changed, "0", changed == 0)
    double = charges - len(at.told)
    bar("charges more or less than questions", double, "0", double == 0)


def charged_requests(at: Watched) -> int:
    token, after, found = at.tokens("abe", Role.AUDITOR), 0, 0
    while True:
        page = at.call("GET", f"/v1/ledger/patients?after={after}", token)
        assert page is not None
        entries = page.json()["entries"]
        if not entries:
            return found
        after = entries[-1]["seq"]
        found += sum(isinstance(decode_act(each["body"]), Charged) for each in entries)
