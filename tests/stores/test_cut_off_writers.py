"""A writer whose connection PostgreSQL cuts."""

from collections.abc import Callable

import pytest
from asking import ask, open_pure
from sqlalchemy import text

from tacit.core.loss import Loss
from tacit.errors import StoreFailed
from tacit.ledger import reserve as answers
from tacit.ledger.charge import Charge
from tacit.ledger.ledger import Ledger
from tacit.ledger.reserve import reserve_charge
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
    paid = reserve_charge(Cut(store, 2), ask("count"), nonce=b"mine", now=0, until=1)  # type: ignore[arg-type]
    assert isinstance(paid, Charge)
    assert ledger.status("patients").spent == Loss.pure("0.1")
    kept = answers.keep(Cut(store, 2), paid, b"42", now=0)  # type: ignore[arg-type]
    assert ledger.find_release(ask("count")) == kept
    with pytest.raises(StoreFailed, match="Ask again with the same idempotency key"):
        reserve_charge(Cut(store, 10**6), ask("more"), nonce=b"mine", now=0, until=1)  # type: ignore[arg-type]
    lost = pay(ledger, "another")
    with pytest.raises(
        StoreFailed, match=r"does not respond\. Ask again with the same idempotency key"
    ):
        answers.keep(Cut(store, 10**6), lost, b"43", now=0)  # type: ignore[arg-type]
