"""The path of a question through the ledger, on both stores."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from multiprocessing import get_context
from threading import Thread

import asking
import pytest
from asking import PERSON, answer, ask, open_pure
from sqlalchemy import insert, text

from tacit.core.event import KeySelection
from tacit.core.loss import Budget, Loss
from tacit.core.privacy_unit import Population
from tacit.errors import AnswerLost, BudgetExceeded, KeyReused, TacitError
from tacit.ledger.chain import append
from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease
from tacit.ledger.entries import Joined
from tacit.ledger.ledger import Ledger
from tacit.store.connect import open_store
from tacit.store.store import SqlStore
from tacit.store.tables import members
from tacit.store.unit_of_work import Work

Told = StoredRelease | TacitError
"""What somebody hears who asked."""

KEYS = KeySelection(epsilon=Fraction(1, 10), delta=Fraction(1, 10**7), max_keys=1)


@pytest.fixture
def ledger(store: SqlStore) -> Ledger:
    return Ledger(store)


def spent(ledger: Ledger) -> Loss:
    return ledger.status("patients").spent


def test_asked_again_the_same_bytes_and_no_charge(ledger: Ledger) -> None:
    open_pure(ledger)
    first = answer(ledger, ask("count"))
    again = answer(ledger, ask("count"))
    by_another = answer(ledger, ask("count", principal="bob", request="mine"))
    assert first == again == by_another
    assert ledger.status("patients").spent == Loss.pure("0.1")


def test_another_question_is_another_draw_and_another_charge(ledger: Ledger) -> None:
    open_pure(ledger)
    bodies = {answer(ledger, ask(plan)).body for plan in "abc"}
    assert len(bodies) == 3
    assert spent(ledger) == Loss.pure("0.3")


def test_the_charge_stands_before_anything_runs(ledger: Ledger) -> None:
    open_pure(ledger)
    seen = {}
    answer(ledger, ask("count"), lambda step: seen.update({step: spent(ledger)}))
    charged = Loss.pure("0.1")
    assert seen["before reserve"] == Loss.pure(0)
    assert seen["before run"] == charged
    assert seen["after run"] == seen["before keep"] == seen["after keep"] == charged


@pytest.mark.parametrize("step", ["before run", "after run", "before keep"])
def test_a_question_that_fails_stays_charged(ledger: Ledger, step: str) -> None:
    open_pure(ledger)

    def fail(reached: str) -> None:
        if reached == step:
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        answer(ledger, ask("count"), fail)
    assert spent(ledger) == Loss.pure("0.1")


def test_what_is_given_up_is_not_refunded(ledger: Ledger) -> None:
    open_pure(ledger, "0.1")
    charge = ledger.reserve(ask("count"), lease_ms=60_000)
    assert isinstance(charge, Charge)
    ledger.abandon(charge)
    assert spent(ledger) == Loss.pure("0.1")
    with pytest.raises(AnswerLost):
        answer(ledger, ask("count"))
    with pytest.raises(BudgetExceeded):
        answer(ledger, ask("another"))


def test_a_key_stands_for_one_question(ledger: Ledger) -> None:
    open_pure(ledger)
    first = answer(ledger, ask("count", request="key 1"))
    answer(ledger, ask("sum", principal="bob", request="key 1"))
    with pytest.raises(KeyReused, match=r"used for another question\. Use a new key for each"):
        answer(ledger, ask("sum", request="key 1"))
    assert answer(ledger, ask("count", request="key 1")) == first
    assert spent(ledger) == Loss.pure("0.2")


class KilledAfterItsFirstCommit:
    """A store whose process dies as soon as one of its works is on the disk."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self.reading = store.reading

    @contextmanager
    def writing(self) -> Iterator[Work]:
        with self._store.writing() as work:
            yield work
        os.kill(os.getpid(), signal.SIGKILL)


def reserve_and_die(store: SqlStore) -> None:
    dying = Ledger(KilledAfterItsFirstCommit(store))  # type: ignore[arg-type]
    dying.reserve(ask("keys", event=KEYS), lease_ms=1)


def test_a_charge_is_one_commit_its_epsilon_and_its_delta(
    store: SqlStore, ledger: Ledger
) -> None:
    budget = Budget(Loss.approximate(1, "1e-6"))
    ledger.open_budget(Population("patients", PERSON), budget, ("olga",), by="olga")
    process = get_context("fork").Process(target=reserve_and_die, args=(store,))
    process.start()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL
    assert spent(ledger) == Loss.approximate("0.1", "1e-7")
    with pytest.raises(AnswerLost):
        answer(ledger, ask("keys", event=KEYS))
    ledger.verify("patients")


WAITING = text(
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE wait_event_type = 'Lock' AND datname = current_database()"
)


@pytest.fixture
def shared(new_store: Callable[[str], str]) -> str:
    """The address of a store that several processes share."""
    return new_store("postgresql")


@pytest.fixture
def team(shared: str, opened: Callable[[str], SqlStore]) -> SqlStore:
    return opened(shared)


@contextmanager
def standing(address: str, *questions: ChargeRequest) -> Iterator[tuple[Work, list[Told]]]:
    """A work before which all stand who ask, each by a store of their own, and what they hear.

    They have read what they read first, and none has written.
    """
    outcomes: list[Told] = []

    def ask_for(question: ChargeRequest) -> None:
        with closing(open_store(address)) as store:
            try:
                outcomes.append(answer(Ledger(store), question))
            except TacitError as refused:
                outcomes.append(refused)

    asking = [Thread(target=ask_for, args=(question,)) for question in questions]
    with closing(open_store(address)) as store:
        with store.writing() as work:
            # all of them come to stand at the row that they would write
            work.one(text("SELECT 1 FROM budgets FOR UPDATE"), {})
            for one in asking:
                one.start()
            stand = (0,)
            while stand < (len(asking),):
                with store.reading() as looking:
                    stand = looking.one(WAITING, {}) or (0,)
            yield work, outcomes
        for one in asking:
            one.join(30)


def at_once(address: str, *questions: ChargeRequest) -> list[Told]:
    """What each is told where all have read what they read first, and none has written."""
    with standing(address, *questions) as (_, outcomes):
        pass
    return outcomes


def test_two_who_both_saw_room_do_not_both_get_it(shared: str, team: SqlStore) -> None:
    ledger = Ledger(team)
    open_pure(ledger, "0.1")
    with team.writing() as work:  # the database's own rule would hide who decides
        work.run(text("ALTER TABLE budgets DROP CONSTRAINT within_cap"), {})
    outcomes = at_once(shared, ask("a"), ask("b"))
    granted = [outcome for outcome in outcomes if isinstance(outcome, StoredRelease)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, BudgetExceeded)]
    assert (len(granted), len(refused)) == (1, 1)
    assert spent(ledger) == Loss.pure("0.1")


def test_of_two_who_ask_the_same_at_once_one_pays_and_the_other_waits(
    shared: str, team: SqlStore
) -> None:
    ledger = Ledger(team)
    open_pure(ledger)
    first, second = at_once(shared, ask("a"), ask("a", principal="bob"))
    assert isinstance(first, StoredRelease)
    assert first == second
    assert spent(ledger) == Loss.pure("0.1")


def test_one_who_sends_a_key_twice_at_once_pays_once(shared: str, team: SqlStore) -> None:
    ledger = Ledger(team)
    open_pure(ledger)
    first, second = at_once(shared, ask("a"), ask("a"))
    assert isinstance(first, StoredRelease)
    assert first == second
    assert spent(ledger) == Loss.pure("0.1")


def test_who_joins_a_group_while_they_ask_pays_for_it_too(shared: str, team: SqlStore) -> None:
    ledger = Ledger(team)
    open_pure(ledger)
    ledger.set_quota("patients", "@ward", Loss.pure("0.05"), by="olga")
    with standing(shared, ask("a")) as (work, outcomes):
        append(work, "patients", Joined("ann", "@ward", "olga", 0))
        work.run(
            insert(members), {"population": "patients", "principal": "ann", "holder": "@ward"}
        )
    assert [type(each) for each in outcomes] == [BudgetExceeded]
    assert spent(ledger) == Loss.pure(0)
    ledger.verify("patients")


def test_what_was_late_while_somebody_asks_is_told_with_their_answer(
    shared: str, team: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    monkeypatch.setattr(
        asking, "run", lambda charge: told.append(charge.records[0].late) or b"3"
    )
    open_pure(Ledger(team))
    with standing(shared, ask("a")) as (work, outcomes):
        work.run(text("UPDATE budgets SET missed = 1, looked = 1"), {})
    assert [type(each) for each in outcomes] == [StoredRelease]
    assert told == [1]
