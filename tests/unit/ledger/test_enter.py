"""What is charged and stored at once: both, or neither, and once."""

from fractions import Fraction

import pytest
from asking import ask, open_pure

from tacit.core.event import Nothing
from tacit.errors import BudgetExceeded
from tacit.ledger.ledger import Ledger
from tacit.store.store import Store


def test_what_is_entered_again_is_what_was_stored_first(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    first = ledger.enter(ask("stream"), b"said")
    assert ledger.enter(ask("stream"), b"otherwise") == first
    assert ledger.enter(ask("stream", principal="bob"), b"otherwise") == first
    assert ledger.status("patients").spent.amount == Fraction(1, 10)
    assert ledger.stored_body(ask("stream").release_key) == first.body == b"said"
    ledger.verify("patients")


def test_what_does_not_fit_is_neither_charged_nor_stored(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger, "0.15")
    ledger.enter(ask("one"), b"said")
    with pytest.raises(BudgetExceeded):
        ledger.enter(ask("two"), b"said")
    assert ledger.stored_body(ask("two").release_key) is None
    assert ledger.status("patients").spent.amount == Fraction(1, 10)


def test_what_was_paid_for_before_costs_nothing_and_stands_in_the_chain(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    entries = len(ledger.entries("patients"))
    ledger.enter(ask("step", event=Nothing()), b"totals")
    assert ledger.status("patients").spent.amount == 0
    assert len(ledger.entries("patients")) == entries + 2
    ledger.verify("patients")
