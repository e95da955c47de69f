"""Waiting for somebody else's answer, and for a database that went away."""

from threading import Event, Thread

import pytest
from asking import ask, open_pure

from tacit.errors import AnswerLost
from tacit.ledger.charge import Charge, StoredRelease
from tacit.ledger.ledger import Ledger
from tacit.store.store import Store


@pytest.fixture
def ledger(store: Store) -> Ledger:
    ledger = Ledger(store)
    open_pure(ledger)
    return ledger


def pay(ledger: Ledger, plan: str) -> Charge:
    paid = ledger.reserve(ask(plan), lease_ms=60_000)
    assert isinstance(paid, Charge)
    return paid


def test_who_waits_gets_the_answer_when_it_comes(ledger: Ledger) -> None:
    charge = pay(ledger, "count")
    got: list[StoredRelease] = []
    started = Event()

    def wait() -> None:
        started.set()
        got.append(ledger.wait(ask("count", principal="bob")))

    waiting = Thread(target=wait)
    waiting.start()
    started.wait(10)
    waiting.join(0.1)  # several looks
    assert got == []
    kept = ledger.keep(charge, b"42")
    waiting.join(10)
    assert got == [kept]


def test_who_waits_looks_ever_less_often_but_four_times_a_second(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    charge = pay(ledger, "count")
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 9:
            ledger.keep(charge, b"42")

    monkeypatch.setattr("tacit.ledger.ledger.time.sleep", sleep)
    assert ledger.wait(ask("count", principal="bob")).body == b"42"
    assert pauses == [0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.25, 0.25, 0.25]


def test_who_waits_for_an_answer_that_never_comes_is_told(ledger: Ledger) -> None:
    ledger.abandon(pay(ledger, "count"))
    with pytest.raises(AnswerLost):
        ledger.wait(ask("count", principal="bob"))
    with pytest.raises(AnswerLost):
        ledger.wait(ask("nobody asked this"))
