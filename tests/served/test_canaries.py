"""1,000 planted strings and numbers: nowhere but in the table, whatever is asked or dies."""

import json
import os
import re
import secrets
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import time
from typing import Any

import psycopg
import pytest
from conftest import Bar
from instances import KEY, PATIENCE, Command, Instance
from postgres_cluster import PostgresCluster
from serving import ALL, BUDGET, make_project

from tacit.ledger.ledger import wall_clock
from tacit.server.messages import QuestionBody
from tacit.server.routes import questions
from tacit.store.connect import open_store
from tacit.store.tokens import AccessToken, Tokens

HALF = 500
SHAPE = re.compile(rb"canary[0-9a-f]{16}|(?<![0-9])[1-9][0-9]{17}(?![0-9])")
SETTINGS = "[server]\nprocesses = 2\nseconds = 5\nrequests_per_minute = 1000000\n"
QUESTIONS = (
    "SELECT COUNT(*) AS n FROM people WHERE person = '{0}'",
    "SELECT city, COUNT(*) AS n FROM people WHERE id = {1} GROUP BY city",
    "SELECT id, COUNT(*) AS n FROM people GROUP BY id",
    "SELECT SUM(cost) AS s FROM visits JOIN people ON patient = id WHERE person <> '{0}'",
    "SELECT COUNT(*) AS n FROM visits WHERE patient > {1}",
    "SELECT AVG(person) AS a FROM people WHERE id = {1}",
    "SELECT '{0}' FROM people",
    "SELECT COUNT(*) AS n FROM {0}",
)
INTO = "INSERT INTO people VALUES"
Serve = Callable[[Path, Path, dict[str, str]], Command | Instance]


@dataclass
class Planted:
    """What must not be found, and where it was."""

    strings: list[str] = field(
        default_factory=lambda: [f"canary{secrets.token_hex(8)}" for _ in range(HALF)]
    )
    numbers: list[str] = field(
        default_factory=lambda: [
            str(10**17 + secrets.randbelow(9 * 10**17)) for _ in range(HALF)
        ]
    )
    found: Counter[str] = field(default_factory=Counter)

    def look(self, place: str, where: bytes, but: str = "") -> None:
        """Count what is planted there; ``but`` is what a caller said themselves."""
        seen = {each.decode() for each in SHAPE.findall(where)}
        known = seen & {*self.strings, *self.numbers}
        self.found[place] += sum(each not in but for each in known)

    @property
    def rows(self) -> str:
        """A table that is full of them."""
        cells = ", ".join(
            f"({number}, '{string}', 'Bern')"
            for number, string in zip(self.numbers, self.strings, strict=True)
        )
        return (
            f"CREATE TABLE people (id BIGINT, person TEXT, city TEXT); {INTO} {cells};"  # noqa: S608
            "CREATE TABLE visits AS SELECT id AS patient, DATE '2026-02-01' AS day, "
            "7::DECIMAL(9, 2) AS cost FROM people;"
            "CREATE TABLE shifts AS SELECT person AS nurse, 8::BIGINT AS hours FROM people"
        )


@dataclass
class Clinic:
    """A project full of canaries, whose ledger is in PostgreSQL."""

    planted: Planted
    place: Path
    file: Path
    temporary: Path
    address: str
    cluster: PostgresCluster
    tokens: dict[str, str]
    began: float


@pytest.fixture
def clinic(tmp_path: Path, cluster: PostgresCluster) -> Iterator[Clinic]:
    began = time() - 1  # the clock of files is a little behind
    planted, name = Planted(), f"canaries_{secrets.token_hex(8)}"
    address = cluster.database(name)
    more = f'{SETTINGS}[store]\naddress = "{address}"\n'
    changed = {BUDGET: 'rho = 1000, delta = "0.01", conversion_delta = "1e-6"'}
    file = make_project(tmp_path / "clinic", planted.rows, more, KEY, changed)
    until = wall_clock() + 10**8
    with closing(open_store(address)) as store:
        issue = Tokens(store).issue
        tokens = {
            role: issue(AccessToken("ann", role, ALL.text, until))
            for role in ("analyst", "operator")
        }
    with TemporaryDirectory(prefix="tacit-canaries-") as temporary:  # short: sockets lie there
        yield Clinic(planted, tmp_path, file, Path(temporary), address, cluster, tokens, began)


def asked_and_killed(clinic: Clinic, serve: Serve) -> Counter[str]:
    """Where canaries are, after questions about them, and crashes of all that answers."""
    planted, logs = clinic.planted, clinic.place / "logs"
    environment = {**KEY, "TMPDIR": str(clinic.temporary)}
    for died in (False, True):
        server = serve(clinic.file, logs, environment).ready()
        try:
            for number, told, sql in _asked(clinic, server.port, again=died):
                planted.look("answers", told, but=sql)
                if number % 5 == 0:
                    _kill_children(clinic.temporary)
            if died:
                told = _call(server.port, clinic.tokens["operator"], "GET", "/metrics")
                planted.look("metrics", told)
            slow = Thread(target=_drain, args=(_asked(clinic, server.port, again=died),))
            slow.start()
        finally:
            server.kill()
        slow.join()
    for log in logs.iterdir():
        planted.look("log", log.read_bytes())
    for file in clinic.temporary.rglob("*"):
        planted.look("temporary files", file.read_bytes() if file.is_file() else b"")
    for file in clinic.file.parent.rglob("*"):
        # the table, and the validated copies that are made of it for their owner alone
        held = file.name == "clinic.duckdb" or file.parent.name == "copies"
        if file.is_file() and not held:
            planted.look("project", file.read_bytes())
    _look_at_store(clinic)
    return planted.found


def _asked(clinic: Clinic, port: int, *, again: bool) -> Iterator[tuple[int, bytes, str]]:
    for number in range(30):
        place = number + 30 * again
        cells = clinic.planted.strings[place], clinic.planted.numbers[place]
        given = {"sql": QUESTIONS[number % len(QUESTIONS)].format(*cells), "rho": "0.01"}
        if " id, " in given["sql"]:
            given["delta"] = "1e-11"
        path = "/v1/quote" if number % 7 == 0 else "/v1/ask"
        body = json.dumps(given)
        with suppress(OSError, HTTPException):
            told = _call(port, clinic.tokens["analyst"], "POST", path, body)
            yield number, told, given["sql"]


def _drain(asked: Iterator[Any]) -> None:
    for _ in asked:
        pass


def _call(port: int, token: str, method: str, path: str, body: str | None = None) -> bytes:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as line:
        line.request(method, path, body, headers)
        response = line.getresponse()
        return str(response.getheaders()).encode() + response.read()


def _kill_children(temporary: Path) -> None:
    """Kill whoever answers now: they work in folders of their own."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if temporary in (process / "cwd").resolve().parents:
                os.kill(int(process.name), signal.SIGKILL)


def _look_at_store(clinic: Clinic) -> None:
    """Every cell by SQL, which unpacks what is packed, and then the server's own files.

    Canaries are new, so that they can only be in files that were written since. The server has
    hundreds of databases of other tests.
    """
    planted = clinic.planted
    with psycopg.connect(clinic.address) as owner:
        tables = owner.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        for (table,) in tables.fetchall():
            for row in owner.execute(f'SELECT * FROM "{table}"').fetchall():  # noqa: S608
                for cell in row:
                    planted.look("store", cell if type(cell) is bytes else str(cell).encode())
        owner.execute("SELECT pg_switch_wal()")
    for file in clinic.cluster.log.parent.rglob("*"):
        with suppress(OSError):  # files come and go
            if file.is_file() and file.stat().st_mtime >= clinic.began:
                planted.look("store's files", file.read_bytes())


def test_no_canary_is_found_anywhere(clinic: Clinic, bar: Bar) -> None:
    found = asked_and_killed(clinic, Command)
    for place in (
        *("answers", "metrics", "log", "temporary files", "project"),
        *("store", "store's files"),
    ):
        name = f"{2 * HALF} canaries, questions and crashes: found in {place}"
        bar(name, found[place], "0", found[place] == 0)
    said = "".join(log.read_text() for log in (clinic.place / "logs").iterdir())
    lines = map(json.loads, re.findall("^{.*}$", said, re.MULTILINE))
    asked = Counter(each["status"] for each in lines if "ask" in each.get("route", ""))
    assert asked[200] >= 10
    assert asked[422] >= 5


def questions_in_the_log() -> None:
    """The lie: a log that says what was asked."""
    original = questions.question_of

    def logged(given: QuestionBody, *more: Any) -> Any:
        print(given.sql, flush=True)  # noqa: T201 - the lie
        return original(given, *more)

    questions.question_of = logged


def test_a_literal_in_the_log_is_found(clinic: Clinic, bar: Bar) -> None:
    found = asked_and_killed(
        clinic,
        lambda file, logs, given: Instance(file, logs, questions_in_the_log, given),
    )
    bar("canaries in a log that says what was asked", found["log"], "some", found["log"] > 0)
