"""The price of a charge: beside the bare database in one run, and after a million others.

The bare run sends the very statements that the ledger sent, with the values that the ledger
computed, through the driver itself: the same transactions without our code.
"""

import gc
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from hashlib import sha256
from itertools import count
from threading import Barrier, Thread
from typing import Any

import psycopg
import pytest
from conftest import Bar, given_seconds

from tacit.core.event import LaplaceNoise
from tacit.core.loss import Budget, Loss
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.ledger import committer
from tacit.ledger.charge import Charge, ChargeRequest, Target
from tacit.ledger.ledger import Ledger
from tacit.store.connect import PRAGMAS, SETTINGS, WRITE
from tacit.store.store import SqlStore
from tacit.store.unit_of_work import Prints, Work

CHARGES = int(os.environ.get("TACIT_CHARGES", "20000"))
SAMPLE, TURN = int(os.environ.get("TACIT_SAMPLE", "20000")), 100
"""How many charges throughput is measured on, and how many go before the other's turn."""

LEAST_RATIO = {"sqlite": 0.9, "postgresql": 0.7}
WRITERS, LEAST_RATE = 64, 1000
"""How many threads charge at once, and how many charges a second PostgreSQL must then take."""

TOGETHER = int(os.environ.get("TACIT_TOGETHER", "12800"))
"""How many charges the threads make in all."""

PATIENTS = Population("patients", PrivacyUnit("person"))
NOISE = LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(10**6))

BODY = bytes(400)
"""The size of a small answer."""

NewStore = Callable[[str], str]
Opened = Callable[[str], SqlStore]
Script = list[list[tuple[str, Any]]]
"""For each charge, its statements and their values."""


def question(number: int, principal: str = "ann") -> ChargeRequest:
    name = str(number)
    return ChargeRequest(
        targets=(Target(PATIENTS, NOISE),),
        principal=principal,
        request=name,
        plan=sha256(name.encode()).digest(),
        loss=Loss.pure("0.000001"),
        policy="1",
        epochs=("visits 1",),
    )


def opened_ledger(store: SqlStore) -> Ledger:
    ledger = Ledger(store)
    ledger.open_budget(PATIENTS, Budget(Loss.pure(1000)), ("olga",), by="olga")
    return ledger


def charge(ledger: Ledger, questions: list[ChargeRequest]) -> list[float]:
    """Seconds of each charge."""
    seconds = []
    for asked in questions:
        began = time.perf_counter()
        paid = ledger.reserve(asked, lease_ms=60_000)
        seconds.append(time.perf_counter() - began)
        assert isinstance(paid, Charge)
    return seconds


class Recorder:
    """A cursor that keeps what it was told."""

    def __init__(self, cursor: Any, statements: list[tuple[str, Any]]) -> None:
        self._cursor = cursor
        self._statements = statements

    def execute(self, text: str, values: Any) -> None:
        self._statements.append((text, values))
        self._cursor.execute(text, values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


@contextmanager
def recording() -> Iterator[Script]:
    """Keeps every statement that goes through a unit of work."""
    script: Script = []
    honest = Work.__init__

    def init(self: Work, cursor: Any, prints: Prints) -> None:
        script.append([])
        honest(self, Recorder(cursor, script[-1]), prints)

    Work.__init__ = init  # type: ignore[method-assign]
    try:
        yield script
    finally:
        Work.__init__ = honest  # type: ignore[method-assign]


def connected(address: str) -> Any:
    """A bare connection, set up as the store sets up its own."""
    if address.startswith("sqlite"):
        path = address.removeprefix("sqlite:///")
        connection = sqlite3.connect(path, isolation_level=None)
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}").close()
        return connection
    options = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
    return psycopg.connect(address, autocommit=True, options=options)


def bare(connection: Any, script: Script) -> float:
    """Seconds that the driver alone takes for ``script``."""
    begin = "BEGIN IMMEDIATE" if isinstance(connection, sqlite3.Connection) else WRITE
    began = time.perf_counter()
    for statements in script:
        cursor = connection.cursor()
        cursor.execute(begin)
        for text, values in statements:
            cursor.execute(text, values)
            if cursor.description:
                cursor.fetchone()
        cursor.execute("COMMIT")
    return time.perf_counter() - began


@pytest.fixture
def one_core() -> Iterator[None]:
    """Stays on one core: moving to another after each sync costs both, and not alike."""
    home = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(home)})
    yield
    os.sched_setaffinity(0, home)


@pytest.mark.usefixtures("one_core")
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_charge_costs_little_more_than_its_transaction(
    kind: str, new_store: NewStore, opened: Opened, bar: Bar
) -> None:
    questions = [question(number) for number in range(SAMPLE)]
    recorded = opened_ledger(opened(new_store(kind)))
    with recording() as script:
        charge(recorded, questions)
    ours = opened_ledger(opened(new_store(kind)))
    address = new_store(kind)
    opened_ledger(opened(address))
    gc.collect()
    gc.freeze()  # or our allocations would pay for walking what the benchmark holds
    ours_seconds = bare_seconds = 0.0
    with closing(connected(address)) as connection:
        for start in range(0, SAMPLE, TURN):  # in turns, so that both meet the same machine
            part = slice(start, start + TURN)
            ours_seconds += sum(charge(ours, questions[part]))
            bare_seconds += bare(connection, script[part])
    gc.unfreeze()
    ratio = bare_seconds / ours_seconds
    rates = f"{SAMPLE / ours_seconds:.0f} and {SAMPLE / bare_seconds:.0f} charges a second"
    least = LEAST_RATIO[kind]
    name = f"throughput of one writer on {kind} over the bare store's ({rates})"
    bar(name, ratio, f">= {least}", ratio >= least)


def charge_at_once(ledger: Ledger, numbers: Iterator[int], total: int, *, keep: bool) -> float:
    """Charges a second of `WRITERS` threads; with ``keep``, each also stores its answer."""
    asked = [question(next(numbers), f"analyst {n % WRITERS}") for n in range(total)]
    shares = [asked[n::WRITERS] for n in range(WRITERS)]
    gate, done = Barrier(WRITERS + 1), list[int]()

    def write(mine: list[ChargeRequest]) -> None:
        gate.wait()
        for each in mine:
            paid = ledger.reserve(each, lease_ms=600_000)
            assert isinstance(paid, Charge)
            if keep:
                ledger.keep(paid, BODY)
        done.append(len(mine))

    threads = [Thread(target=write, args=(share,)) for share in shares]
    for thread in threads:
        thread.start()
    gate.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    assert sum(done) == total
    return total / seconds


@pytest.mark.parametrize("kind", ["postgresql", "sqlite"])
def test_many_writers_of_one_population_are_written_in_groups(
    kind: str,
    new_store: NewStore,
    opened: Opened,
    bar: Bar,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger, numbers = opened_ledger(opened(new_store(kind))), count()
    charge_at_once(ledger, numbers, WRITERS * 4, keep=False)  # statements are prepared
    work, wall = given_seconds(), time.perf_counter()
    rate = charge_at_once(ledger, numbers, TOGETHER, keep=False)
    part = (given_seconds() - work) / (time.perf_counter() - wall)
    both = charge_at_once(ledger, numbers, TOGETHER // 2, keep=True)
    monkeypatch.setattr(committer, "LARGEST_GROUP", 1)
    alone = charge_at_once(ledger, numbers, TOGETHER // 8, keep=False)
    assert ledger.verify(PATIENTS.name)
    wanted = f">= {LEAST_RATE}" if kind == "postgresql" else "shown"
    ok = rate >= LEAST_RATE or kind == "sqlite"
    name = f"charges a second of one population on {kind} by {WRITERS} writers"
    bar(name, f"{rate:.0f}", wanted, ok)
    bar(f"{name}, each with its answer", f"{both:.0f}", "shown", ok=True)
    bar(f"{name}, one a unit of work", f"{alone:.0f}", "shown", ok=True)
    bar("part of the processors that machines beside took", 1 - part, "shown", ok=True)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_last_charge_costs_what_the_first_one_did(
    kind: str, new_store: NewStore, opened: Opened, bar: Bar
) -> None:
    """The last 1% of a long history, in turns with the first 1% of a new one.

    A disk's slowest syncs differ by more within minutes than what is measured here.
    """
    long, short = (opened_ledger(opened(new_store(kind))) for _ in range(2))
    numbers, part = count(), CHARGES // 100
    before: list[float] = []
    while len(before) < CHARGES - part:
        size = min(10_000, CHARGES - part - len(before))
        before += charge(long, [question(next(numbers)) for _ in range(size)])
    first: list[float] = []
    last: list[float] = []
    while len(last) < part:
        size = min(100, part - len(last))
        first += charge(short, [question(next(numbers)) for _ in range(size)])
        last += charge(long, [question(next(numbers)) for _ in range(size)])
    low, high = (sorted(seconds)[part * 99 // 100] for seconds in (first, last))
    earlier = sorted(before[:part])[part * 99 // 100]
    name = f"p99 of the last 1% of {CHARGES} charges on {kind} over the first 1%'s"
    shown = (
        f"{high / low:.2f} ({low * 1e3:.2f} to {high * 1e3:.2f} ms in turns; "
        f"{earlier * 1e3:.2f} ms when this history began)"
    )
    bar(name, shown, "<= 1.5", high <= 1.5 * low)
