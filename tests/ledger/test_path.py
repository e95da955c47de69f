"""The path of a question through the ledger, on both stores."""

import pytest
from asking import answer, ask, open_pure

from tacit.core.loss import Loss
from tacit.ledger.ledger import Ledger
from tacit.store.store import SqlStore


@pytest.fixture
def ledger(store: SqlStore) -> Ledger:
    return Ledger(store)


def test_asked_again_the_same_bytes_and_no_charge(ledger: Ledger) -> None:
    open_pure(ledger)
    first = answer(ledger, ask("count"))
    again = answer(ledger, ask("count"))
    by_another = answer(ledger, ask("count", principal="bob", request="mine"))
    assert first == again == by_another
    assert ledger.status("patients").spent == Loss.pure("0.1")
