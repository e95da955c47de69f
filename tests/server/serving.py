"""A real server on loopback, over a real project, for tests."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from threading import Thread
from typing import Any

import duckdb
import requests
import uvicorn

from tacit.core import Loss
from tacit.ledger.ledger import wall_clock
from tacit.plan import Span
from tacit.project.project import Serving
from tacit.publish import Publication, Publications
from tacit.server.app import make_app, watched_app
from tacit.server.token_policy import Role, TokenScope
from tacit.session.curator import Curator
from tacit.session.project import apply_project, curator_of
from tacit.session.session import Session
from tacit.store.tokens import AccessToken, Tokens
from tacit.stream import EACH, Periods

HOUR = 3_600_000
OPEN_TIME = '\n[server.time]\nkind = "open"\n'
ALL = TokenScope()
NOTHING: Mapping[str, str] = {}
SECONDS = 30

PATIENTS = """\
[engines.warehouse]
kind = "duckdb"
path = "clinic.duckdb"

[populations.patients]
unit = "person"
owners = ["olga"]
budget = { epsilon = 3, delta = "1e-6" }
quotas.bob = { epsilon = 1 }

[datasets.people]
population = "patients"
engine = "warehouse"
epoch = "1"
unit = "person"
max_groups = 1
max_rows = 1
[datasets.people.columns]
id = "integer"
person = "text"
city = { kind = "text", keys = ["Bern", "Ulm"], provenance = "public" }

[datasets.visits]
population = "patients"
engine = "warehouse"
epoch = "1"
link = { column = "patient", parent = "people", parent_column = "id" }
max_groups = 2
max_rows = 5
[datasets.visits.columns]
patient = "integer"
day = { kind = "date", bounds = [2026-01-01, 2026-12-31], provenance = "public" }
cost = { kind = "decimal", step = "0.01", bounds = [0, 100], provenance = "policy" }

"""
STAFF = """
[populations.staff]
unit = "person"
owners = ["oscar"]
budget = { epsilon = 1 }

[datasets.shifts]
population = "staff"
engine = "warehouse"
epoch = "1"
unit = "nurse"
max_groups = 1
max_rows = 3
[datasets.shifts.columns]
nurse = "text"
hours = { kind = "integer", bounds = [0, 24], provenance = "public" }
"""
PROJECT = PATIENTS + STAFF
ROWS = (
    "CREATE TABLE people AS SELECT range AS id, 'p' || range AS person, "
    "CASE range % 2 WHEN 0 THEN 'Bern' ELSE 'Ulm' END AS city FROM range(500);"
    "CREATE TABLE visits AS SELECT range % 500 AS patient, DATE '2026-02-01' AS day, "
    "(range % 80)::DECIMAL(9, 2) AS cost FROM range(2000);"
    "CREATE TABLE shifts AS SELECT 'n' || range AS nurse, 8::BIGINT AS hours FROM range(50)"
)
BUDGET = 'epsilon = 3, delta = "1e-6"'
COUNT = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"


def make_project(
    folder: Path,
    rows: str = ROWS,
    more: str = "",
    environment: Mapping[str, str] = NOTHING,
    changed: Mapping[str, str] = NOTHING,
) -> Path:
    """A project of two populations with an owner each, applied by both.

    Parts of its file can be ``changed`` into others. Its time is open, unless ``more`` says
    otherwise.
    """
    if "deadline" not in more and "[server.time]" not in more:
        more += OPEN_TIME
    patients = PATIENTS
    for old, new in changed.items():
        patients = patients.replace(old, new)
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(folder / "clinic.duckdb")) as owner:
        owner.execute(rows)
    file = folder / "tacit.toml"
    file.write_text(more + patients)
    apply_project(file, by="olga", environment=environment)
    file.write_text(more + patients + STAFF)
    apply_project(file, by="oscar", environment=environment)
    return file


DAILY = "SELECT COUNT(*) AS n FROM visits"


def declare_daily(server: "Server", released: int = 0) -> None:
    """Declare a publication of three weeks about visits, and release some of them."""
    session = Session(server.curator.asked_by("olga"))
    weeks = Periods("day", Span.WEEKS, date(2026, 1, 26), 3)
    daily = Publication("daily", DAILY, weeks, Loss.zcdp("0.001"), EACH)
    publications = Publications(session.states)
    publications.declare(daily, session)
    stream = publications.open("daily", session)
    for number in range(released):
        stream.release(number)


class Server:
    """A server that runs, its address, its log, and whoever calls it."""

    def __init__(self, address: str, curator: Curator, log: list[str], app: Any = None) -> None:
        self.address = address
        self.curator = curator
        self.log = log
        self.app = app

    def token(
        self, who: str, role: Role = Role.ANALYST, scope: TokenScope = ALL, hours: float = 1
    ) -> str:
        """A token that was made where the ledger is."""
        until = wall_clock() + round(hours * HOUR)
        known = scope if scope.datasets is not None else scope.fix(self.curator.catalog)
        return Tokens(self.curator.home.store).issue(
            AccessToken(who, role.value, known.text, until)
        )

    def call(
        self, method: str, path: str, token: str | None = None, **more: Any
    ) -> requests.Response:
        """One request."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        headers |= more.pop("headers", {})
        seconds = more.pop("timeout", SECONDS)
        return requests.request(
            method, self.address + path, headers=headers, timeout=seconds, **more
        )

    def ask(self, token: str, sql: str = COUNT, **more: Any) -> requests.Response:
        """Ask a question."""
        headers = more.pop("headers", {})
        key = more.pop("key", None)
        headers |= {} if key is None else {"Idempotency-Key": key}
        given = {"sql": sql, "epsilon": "0.1"} | more
        return self.call("POST", "/v1/ask", token, json=given, headers=headers)

    def logged(self, count: int = 1) -> list[dict[str, Any]]:
        """The lines of the log, which come after the answers, once there are so many."""
        _wait(lambda: len(self.log) >= count)
        return [json.loads(line) for line in self.log]


@contextmanager
def serving(
    file: Path, environment: Mapping[str, str] = NOTHING, **settings: Any
) -> Iterator[Server]:
    """A server over the project in ``file``, in a thread, on a free port."""
    curator = curator_of(file, "the server", environment)
    settings.setdefault("serving", Serving(requests_per_minute=10**6))
    log: list[str] = []
    installation = settings.pop("installation", None)
    app = make_app(curator, **settings)
    app.state.installation = installation
    with running(watched_app(app, log.append)) as address:
        yield Server(address, curator, log, app)


@contextmanager
def running(app: Any) -> Iterator[str]:
    """Any app on loopback; its address."""
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            port=0,
            http="h11",
            log_level="error",
            access_log=False,
            server_header=False,
        )
    )
    thread = Thread(target=server.run)
    thread.start()
    _wait(lambda: server.started or not thread.is_alive())
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def _wait(ready: Callable[[], bool]) -> None:
    last = time.monotonic() + SECONDS
    while not ready():
        assert time.monotonic() < last, f"It did not come in {SECONDS} seconds."
        time.sleep(0.01)
