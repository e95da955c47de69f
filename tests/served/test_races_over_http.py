"""64 clients ask two servers at one moment: what is granted never passes the budget.

`TACIT_SERVER_ROUNDS` says how often, `just campaign-server` at its real size.
"""

import json
import os
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from conftest import Bar
from instances import KEY, Instance, Seed, honest
from serving import ALL, BUDGET, make_project
from unlocked import UnlockedLedger

from tacit.core.loss import Loss
from tacit.ledger.ledger import Ledger, wall_clock
from tacit.session import curator
from tacit.store.connect import open_store
from tacit.store.tokens import AccessToken, Tokens

ROUNDS = int(os.environ.get("TACIT_SERVER_ROUNDS", "20"))
LIES = 30
"""How many rounds the lie has at most to be caught; the first that catches it is the last."""
FITS = (1, 10, 63)
SIZE = 64
COST = Loss.zcdp("0.005")
SMALL = 'rho = "1e-9", conversion_delta = "1e-6"'
SETTINGS = "[server]\nprocesses = 1\nrequests_per_minute = 1000000\n"
_numbers = count(1)


@dataclass
class Arena:
    """Two servers on one store, the ledger of who looks afterwards, and a token."""

    servers: list[Instance]
    ledger: Ledger
    token: str

    def race(self, fit: int) -> tuple[Counter[int], set[bytes]]:
        """Statuses of 64 questions at one moment where ``fit`` can be paid, and refusals."""
        self.ledger.raise_cap("patients", COST * fit, "a round", by="olga")
        with ExitStack() as closing_all:
            calls = [
                closing_all.enter_context(closing(self._prepared(place)))
                for place in range(SIZE)
            ]
            for call in calls:
                call.sendall(b"}")  # the last byte of all, within a millisecond
            told = [_received(call) for call in calls]
        refused = {body for status, body in told if status != 200}
        return Counter(status for status, _ in told), refused

    def _prepared(self, place: int) -> socket.socket:
        """A request of its own, all but its last byte."""
        sql = f"SELECT COUNT(*) AS n FROM people WHERE id < {next(_numbers)}"  # noqa: S608
        body = json.dumps({"sql": sql, "rho": "0.005"}).encode()
        head = (
            "POST /v1/ask HTTP/1.1\r\nHost: tacit\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {self.token}\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        port = self.servers[place % 2].port
        call = socket.create_connection(("127.0.0.1", port), timeout=120)
        call.sendall(head.encode() + body[:-1])
        return call


def _received(call: socket.socket) -> tuple[int, bytes]:
    told = b""
    while part := call.recv(65536):
        told += part
    head, _, body = told.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@pytest.fixture
def arena_of(
    tmp_path: Path, new_store: Callable[[str], str]
) -> Iterator[Callable[[Seed], Arena]]:
    with ExitStack() as ending:

        def make(seed: Seed) -> Arena:
            address = new_store("postgresql")
            more = f'{SETTINGS}[store]\naddress = "{address}"\n'
            file = make_project(
                tmp_path / "clinic", more=more, environment=KEY, changed={BUDGET: SMALL}
            )
            servers = []
            for _ in range(2):
                servers.append(Instance(file, tmp_path / "logs", seed))
                ending.callback(servers[-1].kill)
            for server in servers:
                server.ready()
            store = ending.enter_context(closing(open_store(address)))
            allowed = AccessToken("ann", "analyst", ALL.text, wall_clock() + 24 * 3_600_000)
            return Arena(servers, Ledger(store), Tokens(store).issue(allowed))

        yield make


def test_two_servers_grant_exactly_what_fits(
    arena_of: Callable[[Seed], Arena], bar: Bar
) -> None:
    arena = arena_of(honest)
    wrong = told_apart = 0
    for place in range(ROUNDS):
        fit = FITS[place % len(FITS)]
        statuses, refused = arena.race(fit)
        wrong += statuses != {200: fit, 402: SIZE - fit}
        told_apart += len(refused) > 1
    name = f"{ROUNDS} rounds of {SIZE} clients at two servers, budget for 1, 10 or 63"
    bar(f"{name}: rounds in which another number was granted", wrong, "0", wrong == 0)
    bar(f"{name}: rounds with two refusals", told_apart, "0", told_apart == 0)
    verdict = arena.ledger.verify("patients")
    assert verdict.spent.amount <= verdict.cap.amount


def looks_and_then_writes() -> None:
    """The lie: a ledger that decides by an `if`."""
    curator.Ledger = UnlockedLedger


def test_servers_that_look_and_then_write_are_caught(
    arena_of: Callable[[Seed], Arena], bar: Bar
) -> None:
    arena = arena_of(looks_and_then_writes)
    granted = rounds = 0
    while granted < 2 and rounds < LIES:
        rounds += 1
        granted = max(granted, arena.race(1)[0][200])
    name = f"{SIZE} clients at two servers, unlocked, at most {LIES} rounds"
    bar(f"{name}: most granted of 1", granted, "over 1", granted > 1)
