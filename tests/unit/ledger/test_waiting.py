"""Waiting for somebody else's answer, and for a database that went away."""

from collections.abc import Callable
from threading import Event, Thread

import pytest
from asking import ask, open_pure
from sqlalchemy import text

from tacit.core.loss import Loss
from tacit.errors import AnswerLost, StoreFailed
from tacit.ledger import answer as answers
from tacit.ledger.charge import Answer, Charge
from tacit.ledger.ledger import Ledger
from tacit.ledger.reserve import reserve
from tacit.store.store import SqlStore


@pytest.fixture
def ledger(store: SqlStore) -> Ledger:
    ledger = Ledger(store)
    open_pure(ledger)
    return ledger


def pay(ledger: Ledger, plan: str) -> Charge:
    paid = ledger.reserve(ask(plan), lease_ms=60_000)
    assert isinstance(paid, Charge)
    return paid


def test_who_waits_gets_the_answer_when_it_comes(ledger: Ledger) -> None:
    charge = pay(ledger, "count")
    got: list[Answer] = []
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


def test_who_waits_for_an_answer_that_never_comes_is_told(ledger: Ledger) -> None:
    ledger.abandon(pay(ledger, "count"))
    with pytest.raises(AnswerLost):
        ledger.wait(ask("count", principal="bob"))
    with pytest.raises(AnswerLost):
        ledger.wait(ask("nobody asked this"))


class Cut:
    """A store whose connection is cut, by its server, in the first so many works."""

    def __init__(self, store: SqlStore, times: int) -> None:
        self._store = store
        self._times = times

    def reading(self) -> object:
        return self._store.reading()

    def writing(self) -> object:
        self._times -= 1
        if self._times >= 0:
            with self._store.reading() as work:
                work.one(text("SELECT pg_terminate_backend(pg_backend_pid())"), {})
        return self._store.writing()


def test_a_writer_that_was_cut_off_charges_and_stores_when_it_can(
    new_store: Callable[[str], str], opened: Callable[[str], SqlStore]
) -> None:
    store = opened(new_store("postgresql"))
    ledger = Ledger(store)
    open_pure(ledger)
    paid = reserve(Cut(store, 2), ask("count"), nonce=b"mine", now=0, until=1)  # type: ignore[arg-type]
    assert isinstance(paid, Charge)
    assert ledger.status("patients").spent == Loss.pure("0.1")
    kept = answers.keep(Cut(store, 2), paid, b"42", now=0)  # type: ignore[arg-type]
    assert ledger.released(ask("count")) == kept
    with pytest.raises(StoreFailed, match="ask again with the same key"):
        reserve(Cut(store, 10**6), ask("more"), nonce=b"mine", now=0, until=1)  # type: ignore[arg-type]
    lost = pay(ledger, "another")
    with pytest.raises(StoreFailed, match="the answer must not leave"):
        answers.keep(Cut(store, 10**6), lost, b"43", now=0)  # type: ignore[arg-type]
