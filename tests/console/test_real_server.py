"""The console of a real `tacit serve`: workers that die, and browsers that go away."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from time import monotonic, sleep

import pytest
import requests
from browsing import clinic_project
from conftest import Bar
from instances import Command
from serving import ALL

from tacit.ledger.ledger import wall_clock
from tacit.session.project import project_and_ledger
from tacit.store.tokens import AccessToken, Tokens

WAIT = 120
ROUNDS, GONE = 60, 40


@dataclass
class Console:
    """A server of its own, and one browser that has signed in."""

    instance: Command
    token: str
    session: requests.Session

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.instance.port}"

    def page(self, path: str = "catalogue") -> requests.Response:
        return self.session.get(f"{self.address}/console/{path}", timeout=WAIT)

    @property
    def log(self) -> list[dict[str, object]]:
        lines = self.instance.log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    folder: Path = tmp_path_factory.mktemp("real")
    limits = "[server]\nprocesses = 1\nrequests_per_minute = 100000\n"
    file = clinic_project(folder, limits)
    with project_and_ledger(file, {}) as (declared, home):
        scope = ALL.fix(declared.catalog).text
        until = wall_clock() + 10**8
        token = Tokens(home.store).issue(AccessToken("ann", "analyst", scope, until))
    instance = Command(file, folder / "logs", {}).ready()
    session = requests.Session()
    session.headers["Sec-Fetch-Site"] = "same-origin"
    session.headers["Connection"] = "close"  # an idle one may end as it is used
    found = Console(instance, token, session)
    signed = session.post(
        f"{found.address}/console/sign-in", data={"token": token}, timeout=WAIT
    )
    assert signed.status_code == 200, signed.text
    yield found
    instance.kill()


def test_a_page_takes_little_longer_than_its_calls(console: Console, bar: Bar) -> None:
    headers = {"Authorization": f"Bearer {console.token}"}
    bare = requests.Session()
    seconds: dict[str, list[float]] = {"page": [], "route": []}
    for _ in range(ROUNDS):
        began = monotonic()
        assert console.page().status_code == 200
        seconds["page"].append(monotonic() - began)
        began = monotonic()
        bare.get(f"{console.address}/v1/status", headers=headers, timeout=WAIT)
        seconds["route"].append(monotonic() - began)
    bare.close()
    page, route = (1000 * quantiles(seconds[each], n=20)[9] for each in ("page", "route"))
    slow, other = (1000 * quantiles(seconds[each], n=20)[18] for each in ("page", "route"))
    bar(
        f"ms of a page, half of {ROUNDS}; GET /v1/status: {route:.3g}",
        page,
        "8 times",
        page < 8 * route,
    )
    bar(f"ms of a page, 95%; GET /v1/status: {other:.3g}", slow, "any", ok=True)


def test_browsers_that_go_away_leave_nothing_behind(console: Console) -> None:
    cookie = "; ".join(f"{each.name}={each.value}" for each in console.session.cookies)
    for number in range(GONE):
        with socket.create_connection(("127.0.0.1", console.instance.port)) as line:
            path = ("catalogue", "ask", "sign-in")[number % 3]
            request = f"GET /console/{path} HTTP/1.1\r\nHost: x\r\nCookie: {cookie}\r\n\r\n"
            line.sendall(request.encode()[: None if number % 4 else -5])
    body = f"POST /console/sign-in HTTP/1.1\r\nHost: 127.0.0.1:{console.instance.port}\r\n"
    body += f"Origin: {console.address}\r\nContent-Length: 100\r\n\r\ntoken="
    with socket.create_connection(("127.0.0.1", console.instance.port)) as line:
        line.sendall(body.encode())  # the rest of the form never comes
    assert console.page().status_code == 200
    sleep(0.5)
    assert [line for line in console.log if "failed" in line] == []


def workers_below(pid: int) -> list[int]:
    """The processes below ``pid`` that work in a folder of their own."""
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            place = Path(f"/proc/{child}/cwd").resolve()
            found += [child] if place != Path.cwd() else []
            found += workers_below(child)
    return found


def test_pages_go_on_while_workers_die(console: Console) -> None:
    workers = workers_below(console.instance.pid)
    assert workers
    for worker in workers:
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
    for path in ("ask", "catalogue", "budget"):
        assert console.page(path).status_code == 200
    asked = {"sql": "SELECT COUNT(*) AS n FROM patients", "epsilon": "0.1"}
    headers = {"Authorization": f"Bearer {console.token}"}
    last = monotonic() + WAIT
    while (
        answer := requests.post(
            f"{console.address}/v1/ask", json=asked, headers=headers, timeout=WAIT
        )
    ).status_code != 200:
        assert answer.status_code == 503, answer.text
        assert monotonic() < last
    assert console.page("catalogue").status_code == 200
