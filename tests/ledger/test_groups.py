"""Charges that threads make together: races, kills and cut connections, on both stores.

The races and kills of `test_races` and `test_crashes` have one thread in each process, so that
no group has two members. Here each process has many threads.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from random import Random
from threading import Barrier, Lock, Thread

import asking
import pytest
from asking import answer, ask, open_pure
from conftest import Bar
from crashing import LEASE_MS, PATIENCE
from cutting_proxy import Cut, CuttingProxy
from judging import complaints
from postgres_cluster import PostgresCluster
from racing import Outcome, faults
from sqlalchemy import update

from tacit.core.loss import Loss
from tacit.core.privacy_unit import Population
from tacit.errors import StoreFailed, TacitError
from tacit.ledger import committer, group_write, reserve
from tacit.ledger.chain import SPEND
from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease
from tacit.ledger.committer import Committer, Waiting
from tacit.ledger.group_write import write_group
from tacit.ledger.ledger import Ledger
from tacit.store.connect import open_store
from tacit.store.store import SqlStore
from tacit.store.tables import budgets

KINDS = ["sqlite", "postgresql"]
ROUNDS = max(2, int(os.environ.get("TACIT_RACE_ROUNDS", "50")) // 10)
KILLS = int(os.environ.get("TACIT_KILLS", "300")) // 10 // len(KINDS)
STORES, THREADS = 2, 32
"""How many stores are open on one database, like processes, and the threads of each."""

COST = Loss.pure("0.1")


# ------------------------------------------------------------------ races


def race(ledgers: Sequence[Ledger], questions: Sequence[ChargeRequest]) -> list[Outcome]:
    """What each thread is told when all ask at once, each its own question."""
    gate, told = Barrier(len(questions)), dict[int, Outcome]()

    def run(number: int) -> None:
        gate.wait(PATIENCE)
        try:
            found = answer(ledgers[number % len(ledgers)], questions[number])
        except TacitError as error:
            told[number] = Outcome(type(error).__name__, str(error), b"", b"")
        else:
            told[number] = Outcome("", "", found.body, found.receipt)

    run_all(run, len(questions))
    return [told[number] for number in range(len(questions))]


def run_all(run: Callable[[int], None], threads: int) -> None:
    started = [Thread(target=run, args=(number,), daemon=True) for number in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of a store, once each."""
    found: str = request.param
    return found


@pytest.fixture
def ledgers(
    kind: str, new_store: Callable[[str], str], opened: Callable[[str], SqlStore]
) -> list[Ledger]:
    """Ledgers over one database, each with a store of its own, like processes."""
    address = new_store(kind)
    return [Ledger(opened(address)) for _ in range(STORES)]


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The size of each group that was written."""
    seen: list[int] = []

    def spied(work: object, members: Sequence[object]) -> list[object]:
        results = write_group(work, members)  # type: ignore[arg-type]
        seen.append(len(results))
        return results  # type: ignore[return-value]

    monkeypatch.setattr(committer, "write_group", spied)
    return seen


def own_questions(of: Population) -> list[ChargeRequest]:
    return [
        ask(f"{of.name}, question {i}", of=of, principal=f"p{i}")
        for i in range(STORES * THREADS)
    ]


@pytest.mark.parametrize("fit", [1, 10, 63])
def test_exactly_what_fits_is_granted_to_groups(
    ledgers: list[Ledger], fit: int, sizes: list[int], kind: str, bar: Bar
) -> None:
    found = []
    for number in range(ROUNDS):
        of = open_pure(ledgers[0], str(COST.amount * fit), f"round {number}")
        outcomes = race(ledgers, own_questions(of))
        found += faults(ledgers[0], of.name, outcomes, fit=fit, cost=COST)
    threads = f"{STORES} stores of {THREADS} threads on {kind}"
    name = f"{ROUNDS} races of {threads}, budget for {fit}"
    bar(f"{name}: rounds with a fault", len(found), "0", not found)
    if fit > 1:
        most = max(sizes, default=0)
        bar(f"{name}: charges and answers in the largest group", most, "over 1", most > 1)


def test_groups_that_look_and_then_spend_are_caught(
    ledgers: list[Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lie: the look of a group decides, and its update has no condition."""
    kept = [
        part
        for part in SPEND.whereclause.clauses  # type: ignore[union-attr]
        if "cap" not in str(part)
    ]
    spend = update(budgets).where(*kept).values(SPEND._values)
    monkeypatch.setattr(reserve, "SPEND", spend.returning(*SPEND._returning))
    monkeypatch.setattr(group_write._Tally, "has_room", lambda *_: True)
    of = open_pure(ledgers[0], "1", "lied to")
    outcomes = race(ledgers, own_questions(of))
    assert faults(ledgers[0], of.name, outcomes, fit=10, cost=COST)


@pytest.mark.parametrize("one_key", [True, False], ids=["one key", "own keys"])
def test_one_question_of_all_threads_is_charged_once(
    ledgers: list[Ledger], *, one_key: bool
) -> None:
    for number in range(ROUNDS):
        of = open_pure(ledgers[0], "0.1", f"round {number}")
        keys = [of.name if one_key else f"{of.name} {i}" for i in range(STORES * THREADS)]
        outcomes = race(ledgers, [ask("one", of=of, request=key) for key in keys])
        assert {(told.error, told.body) for told in outcomes} == {("", outcomes[0].body)}
        assert ledgers[0].status(of.name).spent == COST


def test_an_answer_that_is_being_stored_is_not_a_failure(ledgers: list[Ledger]) -> None:
    """Whoever stored it has lost the connection, and the database has not yet committed."""
    of = open_pure(ledgers[0], "1", "slow")
    paid = ledgers[0].reserve(ask("slow", of=of), lease_ms=60_000)
    assert isinstance(paid, Charge)
    told: list[object] = []
    failing = Thread(target=lambda: told.append(ledgers[1].fail(paid)), daemon=True)
    with ledgers[0]._store.writing() as work:
        stored = reserve.keep_within(work, paid, b"an answer", 1)
        failing.start()
        failing.join(0.5)
        assert not told
    failing.join(PATIENCE)
    assert told == [stored]
    assert ledgers[0].verify(of.name)
    assert not ledgers[0].status(of.name).locked


# ------------------------------------------------------------------ kills

WRITERS = 8


class TellsEarly(Committer):
    """The lie: members are told before the commit, and the process dies between the two."""

    def _write_together(self, group: Sequence[Waiting]) -> int:
        with self._store.writing() as work:
            results = write_group(work, [waiting.member for waiting in group])
            for waiting, result in zip(group, results, strict=False):
                waiting.settle(result)
            if any(isinstance(result, StoredRelease) for result in results):
                time.sleep(0.1)
                os.kill(os.getpid(), signal.SIGKILL)
        return len(results)


def write(address: str, run: str, kind: type[Committer], pipe: Connection) -> None:
    """Ask question after question in each thread, and send each answer, until killed."""
    asking.LEASE_MS = LEASE_MS
    sending = Lock()

    def send(*words: object) -> None:
        with sending:  # one write of less than a page arrives whole, or not at all
            pipe.send_bytes(" ".join(map(str, words)).encode())

    def spied(work: object, members: Sequence[object]) -> list[object]:
        results = write_group(work, members)  # type: ignore[arg-type]
        send("group", len(results))
        return results  # type: ignore[return-value]

    committer.write_group = spied  # type: ignore[assignment]
    with closing(open_store(address)) as store:
        ledger = Ledger(store)
        ledger._committer = kind(store)

        def ask_on(thread: int) -> None:
            for number in count():
                plan = f"{run}-{thread}-{number}"
                try:
                    found = answer(ledger, ask(plan))
                except StoreFailed:
                    return
                send(plan, found.body.hex(), found.receipt.hex())

        send("opened")
        run_all(ask_on, WRITERS)


@dataclass
class Told:
    """What the threads of a process sent until it was killed."""

    received: dict[str, StoredRelease] = field(default_factory=dict)
    largest: int = 0
    """How many charges and answers the largest group had."""

    def add(self, words: list[str]) -> None:
        if words[0] == "group":
            self.largest = max(self.largest, int(words[1]))
        elif len(words) > 1:
            body, receipt = map(bytes.fromhex, words[1:])
            self.received[words[0]] = StoredRelease(body, receipt)

    @property
    def is_at_work(self) -> bool:
        return bool(self.received) and self.largest > 1


def killed(
    address: str,
    run: str,
    delay: float | None,
    kind: type[Committer] = Committer,
    *,
    at_work: bool = False,
) -> Told:
    """Kill a process some time after it opened its store, or after it answered from a group."""
    context = get_context("fork")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=write, args=(address, run, kind, theirs))
    process.start()
    theirs.close()
    told, lines = Told(), _lines(mine)
    if delay is not None:
        mine.poll(PATIENCE)
        while at_work and not told.is_at_work:
            told.add(next(lines))
        time.sleep(delay)
        process.kill()
    for words in lines:
        told.add(words)
    process.join(PATIENCE)
    assert process.exitcode == -signal.SIGKILL
    return told


def _lines(pipe: Connection) -> Iterator[list[str]]:
    while True:
        try:
            yield pipe.recv_bytes().decode().split(" ")
        except EOFError:
            return


def asked_of(received: dict[str, StoredRelease], run: str) -> list[str]:
    """What was received, and the question of each thread that was on its way."""
    asked = list(received)
    for thread in range(WRITERS):
        mine = sum(plan.startswith(f"{run}-{thread}-") for plan in received)
        asked.append(f"{run}-{thread}-{mine}")
    return asked


def test_a_killed_process_leaves_no_answer_of_a_thread_without_its_charge(
    kind: str, new_store: Callable[[str], str], bar: Bar
) -> None:
    address = new_store(kind)
    with closing(open_store(address)) as store:
        open_pure(Ledger(store), "1000000")
    wrong, answers, largest = [], 0, 0
    for number in range(KILLS):
        delay = Random(number).uniform(0, 0.5)  # noqa: S311 - a test that can be repeated
        # on a slow machine, all could come before the first answer: every second waits for it
        told = killed(address, f"{number}", delay, at_work=number % 2 == 0)
        answers, largest = answers + len(told.received), max(largest, told.largest)
        with closing(open_store(address)) as store:
            wrong += complaints(store, told.received, asked_of(told.received, f"{number}"))
    name = f"{KILLS} kills of {WRITERS} threads on {kind}"
    bar(f"{name}: answers received", answers, "some", answers > 0)
    bar(f"{name}: charges and answers in the largest group", largest, "over 1", largest > 1)
    bar(f"{name}: violations", len(wrong), "0", not wrong)
    assert not wrong


def test_telling_before_the_commit_is_caught(
    kind: str, new_store: Callable[[str], str]
) -> None:
    address = new_store(kind)
    with closing(open_store(address)) as store:
        open_pure(Ledger(store), "1000000")
    received = killed(address, "lie", None, TellsEarly).received
    with closing(open_store(address)) as store:
        assert "not" in str(complaints(store, received, asked_of(received, "lie")))


# ------------------------------------------------------------------ cut connections


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_group_whose_commit_is_cut_off_is_charged_once(
    moment: str,
    cluster: PostgresCluster,
    new_store: Callable[[str], str],
    opened: Callable[[str], SqlStore],
    sizes: list[int],
) -> None:
    address = new_store("postgresql")
    direct = opened(address)
    open_pure(Ledger(direct), "1000")
    received, asked = dict[str, StoredRelease](), list[str]()
    with closing(CuttingProxy(cluster.port)) as proxy:
        through = address.replace(f":{cluster.port}/", f":{proxy.port}/")
        store = opened(f"{through}?sslmode=disable&gssencmode=disable")
        ledger = Ledger(store)
        for at in range(1, 9):
            plans = [f"{moment} {at} {number}" for number in range(WRITERS)]
            asked += plans
            proxy.arm(Cut(moment, words=b"COMMIT\0", at=at))

            def run(number: int, plans: list[str] = plans) -> None:
                try:
                    received[plans[number]] = answer(ledger, ask(plans[number]))
                except StoreFailed:
                    return

            run_all(run, WRITERS)
            proxy.arm(None)
        store.close()
    assert max(sizes) > 1
    assert complaints(direct, received, asked) == []
