"""Servers that are killed at any moment: no client holds an answer without its charge.

`TACIT_SERVER_KILLS` says how often, `just campaign-server` at its real size.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import pytest
from callers import Callers, Truth, ask, ask_again
from conftest import Bar
from crashing import Case
from dying import dying
from instances import KEY, PATIENCE, Instance, Seed, honest
from serving import ALL, BUDGET, make_project

from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease
from tacit.ledger.entries import GENESIS, Charged, Looked, decode_act, encode_act, follow
from tacit.ledger.ledger import Ledger, wall_clock
from tacit.session import ask as path
from tacit.store.connect import open_store
from tacit.store.tokens import AccessToken, Tokens

KILLS = int(os.environ.get("TACIT_SERVER_KILLS", "100"))
CASES = [Case(number, "") for number in range(KILLS)]
"""Every second one dies at one of eight named points, the others at random moments."""

LIES = [Case(number, "") for number in (0, 15, 2, 31, 4, 47)]
"""Half of them die after their answer was sent: case 15 does, and every sixteenth more."""

HOURS_24 = 24 * 3_600_000

LARGE = 'rho = 1000000, conversion_delta = "1e-6"'
SETTINGS = "[server]\nprocesses = 1\nseconds = 3\nrequests_per_minute = 1000000\n"


@dataclass(frozen=True)
class Shared:
    """A project whose ledger is in PostgreSQL, with a token for it."""

    file: Path
    address: str
    token: str


@pytest.fixture
def shared(tmp_path: Path, new_store: Callable[[str], str]) -> Shared:
    address = new_store("postgresql")
    store = f'[store]\naddress = "{address}"\n'
    file = make_project(
        tmp_path / "clinic", more=SETTINGS + store, environment=KEY, changed={BUDGET: LARGE}
    )
    with closing(open_store(address)) as opened:
        until = wall_clock() + HOURS_24
        token = Tokens(opened).issue(AccessToken("ann", "analyst", ALL.text, until))
    return Shared(file, address, token)


def killed(shared: Shared, cases: Sequence[Case], seed: Seed = honest) -> Truth:
    """What clients received of two servers, of which one dies again and again."""
    with ExitStack() as ending:

        def new(case: Case) -> Instance:
            made = Instance(shared.file, shared.file.parent / "logs", dying(case, seed))
            ending.callback(made.kill)
            return made.ready()

        servers = [new(case) for case in cases[:2]]
        with Callers(servers, shared.token) as callers:
            for place, case in enumerate(cases):
                before = len(callers.truth.received)
                callers.asking.set()
                if case.point is not None:
                    assert servers[place % 2].died(), case
                else:
                    time.sleep(2 * case.delay)
                    if seed is not honest:  # a lie is told with an answer, at both of them
                        wait_until(lambda: len(callers.truth.received) > before + 1)  # noqa: B023
                    servers[place % 2].kill(stopped=case.stopped)
                callers.asking.clear()  # a new one starts sooner where nobody asks
                servers[place % 2] = new(cases[(place + 2) % len(cases)])
    return callers.truth


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not true() and time.monotonic() < until:
        time.sleep(0.005)


def judged(shared: Shared, truth: Truth) -> Counter[str]:
    """What must not be: answers without a charge, keys with two, answers that change."""
    found: Counter[str] = Counter()
    server = Instance(shared.file, shared.file.parent / "logs").ready()
    try:
        found += ask_again(truth, lambda number: ask(server.port, shared.token, number))
    finally:
        server.kill()
    with closing(open_store(shared.address)) as store:
        ledger, charges = Ledger(store), {}
        ledger.verify("patients")
        after = 0
        while page := ledger.entries("patients", after):
            after = page[-1].seq
            for entry in page:
                act = decode_act(entry.body)
                if isinstance(act, Charged):
                    found["two charges for a key"] += act.request in charges.values()
                    charges[entry.hash.hex()] = act.request
    receipts = [json.loads(told)["receipt"] for told in truth.received.values()]
    found["without a charge"] = sum(receipt not in charges for receipt in receipts)
    found["a charge for two answers"] = len(receipts) - len(set(receipts))
    found["charges but one for each key"] = abs(len(charges) - len(truth.sent))
    return found


WRONG = (
    "without a charge",
    "two charges for a key",
    "a charge for two answers",
    "charges but one for each key",
    "changed",
)


def test_no_kill_leaves_an_answer_without_its_charge(shared: Shared, bar: Bar) -> None:
    truth = killed(shared, CASES)
    found = judged(shared, truth)
    name = f"{KILLS} kills of two servers on PostgreSQL, half of them at named points"
    received = len(truth.received)
    bar(f"{name}: answers received", received, "some", received >= KILLS // 2)
    bar(f"{name}: connections cut", truth.statuses[0], "some", truth.statuses[0] > 0)
    for wrong in WRONG:
        bar(f"{name}: {wrong}", found[wrong], "0", found[wrong] == 0)
    same = found["the same"]
    bar(f"{name}: the same bytes again", same, "all", same == len(truth.received))
    assert set(found) <= {*WRONG, "the same", "answered", "lost"}, found
    assert set(truth.statuses) <= {0, 200, 500}, truth.statuses  # 500: a child that was late


def charged_later() -> None:
    """The lie: an answer leaves, and a moment later it is charged."""
    reserve = Ledger.reserve
    asked: dict[bytes, Callable[[], Charge | StoredRelease]] = {}

    def promised(ledger: Ledger, question: ChargeRequest, *, lease_ms: int) -> Charge:
        asked[question.release_key] = lambda: reserve(ledger, question, lease_ms=lease_ms)
        unpaid = follow(GENESIS, "nobody", 1, encode_act(Looked("nobody", 0)))
        return Charge((unpaid,), question.release_key)

    def kept(
        ledger: Ledger, unpaid: Charge, run: Callable[[Charge], bytes], **_: object
    ) -> StoredRelease:
        body = run(unpaid)

        def pay() -> None:
            time.sleep(0.05)
            paid = asked.pop(unpaid.release_key)()
            if isinstance(paid, Charge):
                ledger.keep(paid, body)

        Thread(target=pay, daemon=True).start()
        return StoredRelease(body, unpaid.receipt)

    Ledger.reserve, path.run_below = promised, kept  # type: ignore[method-assign]


def stored_later() -> None:
    """The lie: what is charged is answered, and a moment later it is stored."""

    def kept(
        ledger: Ledger, charge: Charge, run: Callable[[Charge], bytes], **_: object
    ) -> StoredRelease:
        body = run(charge)

        def keep() -> None:
            time.sleep(0.3)
            ledger.keep(charge, body)

        Thread(target=keep, daemon=True).start()
        return StoredRelease(body, charge.receipt)

    path.run_below = kept


@pytest.mark.parametrize(
    ("seed", "caught"), [(charged_later, "without a charge"), (stored_later, "changed")]
)
def test_a_server_that_answers_first_is_caught(
    shared: Shared, seed: Seed, caught: str, bar: Bar
) -> None:
    found = judged(shared, killed(shared, LIES, seed))
    name = f"{seed.__name__.replace('_', ' ')}, {len(LIES)} kills"
    bar(f"{name}: {caught}", found[caught], "at least 1", found[caught] >= 1)
