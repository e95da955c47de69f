"""What owners may do, and what none of them may do alone."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from asking import PERSON, answer, ask, open_pure

from tacit.core.loss import Budget, Loss
from tacit.core.privacy_unit import Population
from tacit.errors import BudgetExceeded, InvalidValue, NotPermitted, UnknownName
from tacit.ledger.charge import MOST
from tacit.ledger.entries import CapRaised, Decision, Entry, OwnerAdded, OwnerRemoved
from tacit.ledger.ledger import Ledger
from tacit.store.store import Store

PATIENTS = Population("patients", PERSON)
ONE = Loss.pure(1)


@pytest.fixture
def ledger(new_store: Callable[[str], str], opened: Callable[[str], Store]) -> Ledger:
    return Ledger(opened(new_store("sqlite")))


def open_for(ledger: Ledger, *owners: str, budget: Budget | None = None) -> Ledger:
    ledger.open_budget(PATIENTS, budget or Budget(ONE), owners, by=owners[0])
    return ledger


@pytest.fixture
def two(ledger: Ledger) -> Ledger:
    return open_for(ledger, "olga", "otto")


def cap(ledger: Ledger) -> Loss:
    return ledger.status("patients").cap


def test_a_budget_is_made_once(ledger: Ledger) -> None:
    open_for(ledger, "olga")
    answer(ledger, ask("a"))
    for budget in (Budget(ONE), Budget(Loss.pure(100))):
        with pytest.raises(InvalidValue, match="'patients' already has a budget"):
            ledger.open_budget(PATIENTS, budget, ("mallory",), by="mallory")
    assert ledger.status("patients").left == Loss.pure("0.9")
    assert cap(ledger) == ONE


@pytest.mark.parametrize(
    ("owners", "by"), [((), "olga"), (("otto",), "olga"), (("olga", "olga"), "olga")]
)
def test_a_budget_has_distinct_owners_and_its_opener_is_one(
    ledger: Ledger, owners: tuple[str, ...], by: str
) -> None:
    with pytest.raises(InvalidValue, match="owners of a budget must be distinct"):
        ledger.open_budget(PATIENTS, Budget(ONE), owners, by=by)


def test_a_cap_that_cannot_be_counted_exactly_is_rounded_down(ledger: Ledger) -> None:
    open_for(ledger, "olga", budget=Budget(Loss.pure("1/3")))
    assert cap(ledger) == Loss.pure(Fraction(333333333333, 10**12))


def test_what_an_owner_declares_is_in_the_book(two: Ledger) -> None:
    two.declare("patients", ("visits.age: integer",), by="olga")
    two.declare("patients", ("visits.age: integer", "visits.ward: text"), by="otto")
    book = two.book("patients")
    assert book.declared == ("visits.age: integer", "visits.ward: text")
    assert two.verify("patients").entries == 3
    with pytest.raises(NotPermitted, match="mallory does not own"):
        two.declare("patients", (), by="mallory")
    assert two.book("patients").seq == 3


def test_a_single_owner_acts_at_once(ledger: Ledger) -> None:
    open_for(ledger, "olga")
    ledger.raise_cap("patients", ONE, "a new year", by="olga")
    assert cap(ledger) == Loss.pure(2)
    ledger.verify("patients")


def test_an_act_returns_its_entry(two: Ledger) -> None:
    def newest() -> Entry:
        return two.entries("patients")[-1]

    proposal = two.raise_cap("patients", ONE, "a new year", by="olga")
    assert proposal == newest()
    assert two.approve("patients", proposal.seq, by="otto") == newest()
    assert two.set_quota("patients", "ann", ONE, by="olga") == newest()
    assert two.set_least("patients", Fraction(1, 10), by="olga") == newest()
    assert two.join("patients", "ann", "@oncology", by="olga") == newest()
    assert two.declare("patients", (), by="olga") == newest()
    assert two.freeze("patients", by="olga") == newest()
    assert two.thaw("patients", by="olga") == newest()
    assert newest().seq == 9


def test_of_two_owners_one_proposes_and_the_other_approves(two: Ledger) -> None:
    proposal = two.raise_cap("patients", ONE, "a new year", by="olga").seq
    assert cap(two) == ONE
    two.approve("patients", proposal, by="otto")
    assert cap(two) == Loss.pure(2)
    with pytest.raises(UnknownName, match=f"with the number {proposal} waits for approval"):
        two.approve("patients", proposal, by="otto")
    assert cap(two) == Loss.pure(2)
    two.verify("patients")


def test_nobody_approves_their_own_proposal(two: Ledger) -> None:
    proposal = two.raise_cap("patients", ONE, "please", by="olga").seq
    with pytest.raises(NotPermitted, match="approved by another owner than the one who made"):
        two.approve("patients", proposal, by="olga")
    assert cap(two) == ONE


def test_who_is_no_owner_decides_nothing(two: Ledger) -> None:
    with pytest.raises(NotPermitted, match="mallory does not own the budget of 'patients'"):
        two.raise_cap("patients", ONE, "please", by="mallory")
    proposal = two.raise_cap("patients", ONE, "please", by="olga").seq
    with pytest.raises(NotPermitted, match="mallory does not own"):
        two.approve("patients", proposal, by="mallory")
    assert cap(two) == ONE
    assert two.verify("patients").entries == 2


def test_a_puppet_cannot_be_made_an_owner_by_one(two: Ledger) -> None:
    proposal = two.propose("patients", OwnerAdded("puppet"), by="olga").seq
    for by in ("puppet", "olga"):
        with pytest.raises(NotPermitted):
            two.approve("patients", proposal, by=by)
    rise = two.raise_cap("patients", ONE, "please", by="olga").seq
    with pytest.raises(NotPermitted):
        two.approve("patients", rise, by="puppet")
    two.approve("patients", proposal, by="otto")  # with the second owner, they are one
    two.approve("patients", rise, by="puppet")
    assert cap(two) == Loss.pure(2)


def test_an_owner_cannot_be_removed_by_one(two: Ledger) -> None:
    proposal = two.propose("patients", OwnerRemoved("otto"), by="olga").seq
    with pytest.raises(NotPermitted):
        two.approve("patients", proposal, by="olga")
    two.raise_cap("patients", ONE, "please", by="olga")
    assert cap(two) == ONE
    two.approve("patients", proposal, by="otto")
    two.raise_cap("patients", ONE, "alone now", by="olga")
    assert cap(two) == Loss.pure(2)
    with pytest.raises(NotPermitted):
        two.raise_cap("patients", ONE, "please", by="otto")
    two.verify("patients")


def test_a_proposal_ends_with_the_ownership_of_who_made_it(ledger: Ledger) -> None:
    open_for(ledger, "olga", "otto", "oda")
    rise = ledger.raise_cap("patients", ONE, "please", by="olga").seq
    gone = ledger.propose("patients", OwnerRemoved("olga"), by="otto").seq
    ledger.approve("patients", gone, by="oda")
    with pytest.raises(UnknownName, match="No proposal"):
        ledger.approve("patients", rise, by="otto")
    assert cap(ledger) == ONE


def test_the_last_owner_stays(ledger: Ledger) -> None:
    open_for(ledger, "olga")
    with pytest.raises(
        InvalidValue, match="olga is the last owner of the budget of 'patients'"
    ):
        ledger.propose("patients", OwnerRemoved("olga"), by="olga")
    for decision, told in (
        (OwnerRemoved("otto"), "otto is not an owner"),
        (OwnerAdded("olga"), "olga is already an owner"),
    ):
        with pytest.raises(InvalidValue, match=told):
            ledger.propose("patients", decision, by="olga")
    assert ledger.verify("patients").entries == 1


def test_a_raised_cap_never_lowers_what_was_spent(ledger: Ledger) -> None:
    open_pure(ledger, "0.2")
    answer(ledger, ask("a"))
    answer(ledger, ask("b"))
    with pytest.raises(BudgetExceeded):
        answer(ledger, ask("c"))
    ledger.raise_cap("patients", Loss.pure("0.1"), "the answer to b was lost", by="olga")
    assert ledger.status("patients").spent == Loss.pure("0.2")
    answer(ledger, ask("c"))
    assert ledger.status("patients").left == Loss.pure(0)
    with pytest.raises(BudgetExceeded):
        answer(ledger, ask("d"))


@pytest.mark.parametrize(
    ("rise", "told"),
    [
        (CapRaised(-1, 0, "down"), "raised by an amount above 0"),
        (CapRaised(5, -1, "down"), "raised by an amount above 0"),
        (CapRaised(0, 0, "nothing"), "raised by an amount above 0"),
        (CapRaised(10**25, 0, "all"), "no more than the largest amount"),
        (CapRaised(0, 1, "a delta"), "has no delta. Raise its epsilon only"),
        (
            CapRaised(MOST, 0, "most"),
            "largest amount that a ledger can store. Raise it by less",
        ),
    ],
)
def test_a_rise_that_means_nothing_is_refused(
    ledger: Ledger, rise: Decision, told: str
) -> None:
    open_for(ledger, "olga")
    with pytest.raises(InvalidValue, match=told):
        ledger.propose("patients", rise, by="olga")
    assert cap(ledger) == ONE
    assert ledger.verify("patients").entries == 1


def test_a_delta_is_raised_where_a_budget_has_one(ledger: Ledger) -> None:
    open_for(ledger, "olga", budget=Budget(Loss.approximate(1, "1e-6")))
    ledger.raise_cap("patients", Loss.approximate(0, "1e-6"), "keys", by="olga")
    assert cap(ledger) == Loss.approximate(1, "2e-6")


def test_a_cap_is_raised_in_its_own_measure(ledger: Ledger) -> None:
    open_pure(ledger)
    with pytest.raises(InvalidValue, match="in the measure of its budget"):
        ledger.raise_cap("patients", Loss.zcdp(1), "another measure", by="olga")
    assert ledger.status("patients").cap == Loss.pure(1)
