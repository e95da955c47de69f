"""Neighbours over HTTP: nothing but noise differs between a table, a neighbour, and none.

`TACIT_HTTP_REQUESTS` says how many requests, `just campaign-neighbours` 2,000.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import duckdb
import pytest
from conftest import Bar
from instances import START_PATIENCE, Instance, Seed, honest
from made_requests import Made, made
from serving import ALL, BUDGET, ROWS, make_project

from tacit.ledger.ledger import wall_clock
from tacit.server import app
from tacit.server.refusal import Refusal, refusal_of
from tacit.server.routes import questions
from tacit.session.project import project_and_ledger
from tacit.store.tokens import AccessToken, Tokens

REQUESTS = int(os.environ.get("TACIT_HTTP_REQUESTS", "200"))
LIES = 40
ROLES = {"ann": "analyst", "bob": "analyst", "ada": "auditor"}
SETTINGS = "[server]\nprocesses = 1\nrequests_per_minute = 1000000\nseconds = 300\n"
ODD = (
    ";INSERT INTO people VALUES (777, 'ann', 'Rome');"
    "INSERT INTO visits SELECT 777, NULL, 9999999 FROM range(300);"
    "INSERT INTO shifts VALUES ('ann', 9000000000), ('ann', NULL)"
)
EMPTY = ";DELETE FROM people; DELETE FROM visits; DELETE FROM shifts"
TABLES = {"D": ROWS, "D'": ROWS + ODD, "none": ROWS + EMPTY}
DRAWN = re.compile(
    r"\b[0-9a-f]{64}\b|(?<=nonce)\W+[0-9a-f]+|(?<=at)\W+[0-9]{13}|[0-9]{13}(?= \w+: epoch)"
    r"|(?<=inode )[0-9a-f]{24}|(?<=path )[0-9a-f]{24}"
)
"""Hashes of what is drawn, times, and marks of the files, which lie in three folders."""


class Side:
    """A server over one of the tables."""

    def __init__(self, server: Instance, tokens: dict[str, str]) -> None:
        self._tokens = tokens
        self._port = server.port

    def seen(self, request: Made) -> tuple[Any, ...]:
        """All that a caller sees, but the noise."""
        headers = {**request.headers, "Authorization": f"Bearer {self._tokens[request.by]}"}
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=START_PATIENCE)) as line:
            line.request(request.method, request.path, request.body, headers)
            response = line.getresponse()
            body = response.read().decode()
        told = {name.lower(): value for name, value in response.getheaders()}
        told.pop("date")
        if request.answered and response.status == 200:
            told.pop("content-length")  # of numbers with noise
            return response.status, told, _masked(json.loads(body))
        if request.path == "/metrics" and response.status == 200:
            told.pop("content-length")  # of seconds
            return response.status, told
        return response.status, told, DRAWN.sub("…", body)


def _masked(answer: dict[str, Any]) -> str:
    """An answer without its noise: names, keys, how many rows, the guarantee, the standing."""
    for values in answer["columns"].values():
        values[:] = [value if isinstance(value, str) else "…" for value in values]
    answer["receipt"] = len(answer["receipt"])
    return json.dumps(answer)


def rows_of(file: Path) -> int:
    """What no caller may learn."""
    with duckdb.connect(str(file.parent / "clinic.duckdb"), read_only=True) as owner:
        counted: list[tuple[int]] = owner.execute("SELECT COUNT(*) FROM visits").fetchall()
    return counted[0][0]


@pytest.fixture
def sides_of(tmp_path: Path) -> Iterator[Callable[[Callable[[Path], Seed]], list[Side]]]:
    with ExitStack() as ending:

        def make(lie: Callable[[Path], Seed]) -> list[Side]:
            found = []
            for place, rows in enumerate(TABLES.values()):
                changed = {BUDGET: 'rho = 1, conversion_delta = "1e-6"'}
                file = make_project(tmp_path / f"{place}", rows, SETTINGS, changed=changed)
                tokens = {"nobody": "tacit_nobody"}
                with project_and_ledger(file, {}) as (_, home):
                    for who, role in ROLES.items():
                        allowed = AccessToken(who, role, ALL.text, wall_clock() + 10**8)
                        tokens[who] = Tokens(home.store).issue(allowed)
                server = Instance(file, tmp_path / "logs", lie(file), {})
                ending.callback(server.kill)
                found.append((server, tokens))
            return [Side(server.ready(), tokens) for server, tokens in found]

        yield make


def compared(sides: list[Side], requests: int) -> tuple[list[int], Counter[int]]:
    """The numbers of requests that tell the tables apart, and how many had which status."""
    apart, statuses = [], Counter[int]()
    for number in range(requests):
        first, *others = [side.seen(made(number)) for side in sides]
        statuses[first[0]] += 1
        if any(other != first for other in others):
            apart.append(number)
            print(number, first, *others, sep="\n")  # noqa: T201 - shown where it fails
    return apart, statuses


def test_requests_tell_nothing_but_noise(
    sides_of: Callable[[Callable[[Path], Seed]], list[Side]], bar: Bar
) -> None:
    apart, statuses = compared(sides_of(lambda _: honest), REQUESTS)
    name = f"{REQUESTS} requests at D, D' and an empty table"
    bar(f"{name}: told apart", len(apart), "0", not apart)
    shown = ", ".join(f"{status}: {seen}" for status, seen in sorted(statuses.items()))
    wanted = {200, 401, 402, 403, 404, 406, 409, 422}
    bar(f"{name}: by status", shown, "eight kinds", set(statuses) >= wanted)
    assert not apart, [made(number) for number in apart[:3]]


def rows_in_a_header(file: Path) -> None:
    """The lie: how many rows were read, to be helpful."""
    rows, answered = str(rows_of(file)), questions.release_response

    def told(*given: Any) -> Any:
        response = answered(*given)
        response.headers["X-Rows"] = rows
        return response

    questions.release_response = told


def a_value_in_an_error(file: Path) -> None:
    """The lie: a refusal that says how large the table is."""
    rows = rows_of(file)

    def worded(error: Exception) -> Refusal:
        refusal = refusal_of(error)
        if refusal.status == 422:
            refusal.told.message += f" The table has {rows} rows."
        return refusal

    app.refusal_of = worded


@pytest.mark.parametrize("lie", [rows_in_a_header, a_value_in_an_error])
def test_a_header_or_an_error_with_a_number_of_rows_is_caught(
    sides_of: Callable[[Callable[[Path], Seed]], list[Side]],
    lie: Callable[[Path], None],
    bar: Bar,
) -> None:
    apart, _ = compared(sides_of(lambda file: partial(lie, file)), LIES)
    name = f"{lie.__name__.replace('_', ' ')}, {LIES} requests"
    bar(f"{name}: told apart", len(apart), "at least 1", len(apart) >= 1)
