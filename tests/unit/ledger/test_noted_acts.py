"""Every entry that is written is counted, so that an anchor of it is written soon."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from asking import LEASE_MS, answer, ask, open_pure

from tacit.core.loss import Loss
from tacit.errors import NotPermitted
from tacit.ledger.chain import take_anchor
from tacit.ledger.charge import Charge
from tacit.ledger.ledger import Ledger
from tacit.store.store import Store

ONE = Loss.pure(1)


@dataclass
class Counting:
    """A gate that counts."""

    noted: int = 0
    admitted: int = 0

    def admit(self, charges: int) -> None:
        self.admitted += charges

    def settle(self, charges: int) -> None:
        pass

    def note(self) -> None:
        self.noted += 1


@pytest.fixture
def gate() -> Counting:
    return Counting()


@pytest.fixture
def ledger(
    new_store: Callable[[str], str], opened: Callable[[str], Store], gate: Counting
) -> Ledger:
    ledger = Ledger(opened(new_store("sqlite")), gate=gate)
    open_pure(ledger, "5")
    ledger.set_quota("patients", "ann", Loss.pure("0.3"), by="olga")
    return ledger


def charge(ledger: Ledger) -> Charge:
    paid = ledger.reserve(ask("to fail"), lease_ms=LEASE_MS)
    assert isinstance(paid, Charge)
    return paid


def ask_for_quota(ledger: Ledger) -> int:
    return ledger.request_quota("patients", ONE, by="ann").seq


ACTS: dict[str, Callable[[Ledger], object]] = {
    "request": ask_for_quota,
    "quota": lambda one: one.set_quota("patients", "bob", ONE, by="olga"),
    "default quota": lambda one: one.set_default_quota("patients", ONE, by="olga"),
    "least": lambda one: one.set_least("patients", 0, by="olga"),
    "team": lambda one: one.join("patients", "ann", "@lab", by="olga"),
    "cap": lambda one: one.raise_cap("patients", ONE, "why", by="olga"),
    "lower cap": lambda one: one.lower_cap("patients", Loss.pure(4), by="olga"),
    "freeze": lambda one: one.freeze("patients", by="olga"),
    "declare": lambda one: one.declare("patients", (), by="olga"),
}


@pytest.mark.parametrize("name", ACTS)
def test_an_act_is_counted(ledger: Ledger, gate: Counting, name: str) -> None:
    before = gate.noted
    ACTS[name](ledger)
    assert gate.noted == before + 1


@pytest.mark.parametrize("granted", [True, False])
def test_a_decision_about_a_quota_is_counted(
    ledger: Ledger,
    gate: Counting,
    granted: bool,  # noqa: FBT001
) -> None:
    number, before = ask_for_quota(ledger), gate.noted
    decide = ledger.grant_quota if granted else ledger.decline_quota
    decide("patients", number, by="olga")
    assert gate.noted == before + 1


def test_incidents_and_their_review_are_counted(ledger: Ledger, gate: Counting) -> None:
    before, paid = gate.noted, charge(ledger)
    ledger.miss(paid)
    assert gate.noted == before + 1
    ledger.look("patients", by="olga")
    assert gate.noted == before + 2


def test_a_difference_that_is_charged_is_counted(
    ledger: Ledger,
    gate: Counting,
    new_store: Callable[[str], str],
    opened: Callable[[str], Store],
) -> None:
    answer(ledger, ask("lost"))
    anchor = take_anchor(ledger._bare)
    other = Ledger(opened(new_store("sqlite")), gate=gate)
    open_pure(other, "5")
    before = gate.noted
    other.charge_difference(anchor, by="olga")
    assert gate.noted == before + 1


def test_a_charge_is_admitted_and_not_counted_twice(ledger: Ledger, gate: Counting) -> None:
    before = gate.noted
    answer(ledger, ask("a"))
    ledger.enter(ask("b"), b"body")
    assert (gate.admitted, gate.noted) == (2, before)


def test_what_was_refused_or_only_read_is_not_counted(ledger: Ledger, gate: Counting) -> None:
    before = gate.noted
    with pytest.raises(NotPermitted):
        ledger.set_quota("patients", "bob", ONE, by="eve")
    ledger.status("patients")
    ledger.verify("patients")
    assert gate.noted == before
