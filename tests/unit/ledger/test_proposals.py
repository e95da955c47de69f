"""Proposals replace each other, lapse and are withdrawn; caps are raised for a reason."""

from collections.abc import Callable

import pytest
from asking import answer, ask, open_pure
from fake_clock import TurnedClock

from tacit.core.loss import Budget, Loss
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.errors import BudgetExceeded, InvalidValue, NotPermitted, UnknownName
from tacit.ledger.chain import append
from tacit.ledger.entries import CapRaised, OwnerAdded, OwnerRemoved, Proposed
from tacit.ledger.ledger import Ledger
from tacit.ledger.proposals import LAPSE_MS
from tacit.store.store import Store
from tacit.store.tables import proposals

ONE = Loss.pure(1)


@pytest.fixture
def clock() -> TurnedClock:
    found = TurnedClock()
    found.now = 1_767_225_600_000  # the first moment of 2026
    return found


@pytest.fixture
def store(new_store: Callable[[str], str], opened: Callable[[str], Store]) -> Store:
    return opened(new_store("sqlite"))


@pytest.fixture
def two(store: Store, clock: TurnedClock) -> Ledger:
    ledger = Ledger(store, clock=clock)
    people = Population("patients", PrivacyUnit("person"))
    ledger.open_budget(people, Budget(ONE), ("olga", "otto"), by="olga")
    return ledger


def cap(ledger: Ledger) -> Loss:
    return ledger.status("patients").cap


def rise(ledger: Ledger, amount: str, by: str = "olga") -> int:
    return ledger.raise_cap("patients", Loss.pure(amount), f"{amount} more", by=by).seq


# ------------------------------------------------------------------ one replaces another


def test_raises_do_not_add_up(two: Ledger) -> None:
    numbers = [rise(two, "1"), rise(two, "2", by="otto"), rise(two, "3")]
    assert list(two.waiting_proposals("patients")) == numbers[-1:]
    for number in numbers[:-1]:
        with pytest.raises(UnknownName, match="waits for approval"):
            two.approve("patients", number, by="otto")
    two.approve("patients", numbers[-1], by="otto")
    assert cap(two) == Loss.pure(4)
    told = [line.decision for line in two.history("patients") if line.kind == "proposal"]
    assert told == ["withdrawn by otto", "withdrawn by olga", "approved by otto"]
    two.verify("patients")


def test_a_proposal_replaces_only_what_is_about_the_same(two: Ledger) -> None:
    kept = [
        two.propose("patients", OwnerAdded("ida"), by="olga").seq,
        rise(two, "1"),
    ]
    replaced = two.propose("patients", OwnerAdded("owen"), by="olga").seq
    newest = two.propose("patients", OwnerAdded("owen"), by="otto").seq
    removal = two.propose("patients", OwnerRemoved("otto"), by="olga").seq
    assert list(two.waiting_proposals("patients")) == [*kept, newest, removal]
    assert replaced not in two.waiting_proposals("patients")
    two.verify("patients")


def test_two_raises_of_an_old_ledger_still_mean_what_they_meant(
    two: Ledger, store: Store
) -> None:
    numbers = []
    with store.writing() as work:  # as version 0.1 wrote them
        for amount in (1, 2):
            act = Proposed(CapRaised(amount * 10**12, 0, "the project file says so"), "olga", 1)
            entry = append(work, "patients", act)
            row = {"population": "patients", "seq": entry.seq, "body": entry.body}
            work.run(proposals.insert(), row)
            numbers.append(entry.seq)
    two.verify("patients")
    for number in numbers:
        two.approve("patients", number, by="otto")
    assert cap(two) == Loss.pure(4)
    two.verify("patients")


def test_a_request_for_a_quota_is_no_proposal(two: Ledger) -> None:
    two.set_quota("patients", "ann", Loss.pure("0.1"), by="olga")
    asked = two.request_quota("patients", Loss.pure("0.2"), by="ann").seq
    rise(two, "1")
    rise(two, "2")
    assert list(two.quota_requests("patients")) == [asked]
    with pytest.raises(UnknownName):
        two.withdraw("patients", asked, by="olga")
    two.verify("patients")


# ------------------------------------------------------------------ it lapses, it is withdrawn


def test_a_proposal_lapses_after_thirty_days(two: Ledger, clock: TurnedClock) -> None:
    number = rise(two, "1")
    clock.now += LAPSE_MS - 1
    assert list(two.waiting_proposals("patients")) == [number]
    assert two.history("patients")[-1].decision.endswith("until 2026-01-31 00:00:00")
    clock.now += 1
    assert two.waiting_proposals("patients") == {}
    assert two.history("patients")[-1].decision == "lapsed on 2026-01-31 00:00:00"
    with pytest.raises(InvalidValue, match=r"until 2026-01-31 00:00:00 UTC and has lapsed"):
        two.approve("patients", number, by="otto")
    assert cap(two) == ONE
    two.verify("patients")
    two.approve("patients", rise(two, "2"), by="otto")
    assert cap(two) == Loss.pure(3)
    two.verify("patients")


def test_a_proposal_is_approved_in_the_last_moment(two: Ledger, clock: TurnedClock) -> None:
    number = rise(two, "1")
    clock.now += LAPSE_MS - 1
    two.approve("patients", number, by="otto")
    assert cap(two) == Loss.pure(2)
    two.verify("patients")


@pytest.mark.parametrize("by", ["olga", "otto"])
def test_any_owner_withdraws_a_proposal(two: Ledger, by: str) -> None:
    number = rise(two, "1")
    with pytest.raises(NotPermitted, match="mallory does not own"):
        two.withdraw("patients", number, by="mallory")
    two.withdraw("patients", number, by=by)
    for act in (two.withdraw, two.approve):
        with pytest.raises(UnknownName, match=f"with the number {number} waits"):
            act("patients", number, by="otto")
    assert two.waiting_proposals("patients") == {}
    assert cap(two) == ONE
    assert two.verify("patients").entries == 3


def test_a_proposal_whose_owner_is_gone_is_withdrawn(two: Ledger) -> None:
    number = rise(two, "1", by="otto")
    gone = two.propose("patients", OwnerRemoved("otto"), by="olga").seq
    two.approve("patients", gone, by="otto")
    for act in (two.approve, two.withdraw):
        with pytest.raises(UnknownName, match="No proposal"):
            act("patients", number, by="olga")
    two.verify("patients")


# ------------------------------------------------------------------ reasons


@pytest.mark.parametrize("reason", ["", " ", "x" * 201, "two\nlines", "\x1b[2J"])
def test_a_raise_needs_a_reason_that_can_be_read(two: Ledger, reason: str) -> None:
    with pytest.raises(InvalidValue, match="reason"):
        two.raise_cap("patients", ONE, reason, by="olga")
    assert two.verify("patients").entries == 1


# ------------------------------------------------------------------ a smaller cap


def test_a_cap_is_lowered_to_what_is_spent_and_no_further(two: Ledger) -> None:
    for plan in ("a", "b"):
        answer(two, ask(plan))
    entries = two.verify("patients").entries
    for wrong in ("0.199999999999", "1", "1.5", "0"):
        with pytest.raises(InvalidValue, match="not below what is spent"):
            two.lower_cap("patients", Loss.pure(wrong), by="olga")
    with pytest.raises(NotPermitted, match="mallory does not own"):
        two.lower_cap("patients", Loss.pure("0.5"), by="mallory")
    with pytest.raises(InvalidValue, match="in the measure of its budget"):
        two.lower_cap("patients", Loss.zcdp("0.5"), by="olga")
    assert two.verify("patients").entries == entries
    two.lower_cap("patients", Loss.pure("0.2"), "no more", by="otto")
    status = two.status("patients")
    assert (status.cap, status.spent, status.left) == (
        Loss.pure("0.2"),
        Loss.pure("0.2"),
        Loss.pure(0),
    )
    with pytest.raises(BudgetExceeded):
        answer(two, ask("c"))
    two.verify("patients")
    line = two.history("patients")[-1]
    assert (line.kind, line.who, line.what) == (
        "cap",
        "otto",
        "lower the cap to epsilon 0.2: no more",
    )


def test_the_least_price_follows_a_lowered_cap(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger, "100")
    ledger.lower_cap("patients", Loss.pure(10), by="olga")
    assert ledger.status("patients").least == Loss.pure("0.0001")
    ledger.verify("patients")


def test_a_lowered_cap_withdraws_a_raise(two: Ledger) -> None:
    raise_, other = rise(two, "1"), two.propose("patients", OwnerAdded("ida"), by="olga").seq
    two.lower_cap("patients", Loss.pure("0.5"), by="otto")
    assert list(two.waiting_proposals("patients")) == [other]
    with pytest.raises(UnknownName):
        two.approve("patients", raise_, by="otto")
    two.approve("patients", rise(two, "0.1"), by="otto")
    assert cap(two) == Loss.pure("0.6")
    two.verify("patients")
