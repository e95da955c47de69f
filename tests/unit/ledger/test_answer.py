"""Stored answers: written once, never drawn again, and nobody waits for ever."""

from collections.abc import Callable

import pytest
from asking import ask, open_pure
from fake_clock import TurnedClock

from tacit.core.loss import Loss
from tacit.errors import AnswerLost, AnswerPending
from tacit.ledger.charge import Charge, StoredRelease
from tacit.ledger.ledger import Ledger
from tacit.store.store import Store


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
def one_file(new_store: Callable[[str], str], opened: Callable[[str], Store]) -> Store:
    return opened(new_store("sqlite"))


@pytest.fixture
def ledger(one_file: Store, clock: TurnedClock) -> Ledger:
    ledger = Ledger(one_file, clock=clock)
    open_pure(ledger)
    return ledger


def pay(ledger: Ledger, plan: str = "count", principal: str = "ann") -> Charge:
    paid = ledger.reserve(ask(plan, principal=principal), lease_ms=1_000)
    assert isinstance(paid, Charge)
    return paid


def test_an_answer_is_stored_once_and_the_first_one_stays(ledger: Ledger) -> None:
    charge = pay(ledger)
    first = ledger.keep(charge, b"first")
    assert first == StoredRelease(b"first", charge.receipt)
    assert ledger.keep(charge, b"second") == first
    assert ledger.find_release(ask("count")) == first
    assert ledger.verify("patients").entries == 3


def test_before_anybody_asked_there_is_no_answer(ledger: Ledger) -> None:
    assert ledger.find_release(ask("count")) is None


def test_a_charge_is_known_by_its_analyst_population_and_question(ledger: Ledger) -> None:
    key = pay(ledger).release_key
    assert ledger.was_charged("ann", "patients", key)
    assert not ledger.was_charged("bob", "patients", key)
    assert not ledger.was_charged("ann", "staff", key)
    assert not ledger.was_charged("ann", "patients", ask("another").release_key)


def test_while_somebody_answers_others_are_told_until_when(
    ledger: Ledger, clock: TurnedClock
) -> None:
    pay(ledger)
    for principal in ("ann", "bob"):
        with pytest.raises(AnswerPending, match="Wait for that answer, which is free") as told:
            pay(ledger, principal=principal)
        assert told.value.until == clock.now + 1_000
    with pytest.raises(AnswerPending):
        ledger.find_release(ask("count"))
    assert ledger.status("patients").spent == Loss.pure("0.1")


def test_after_the_lease_the_answer_is_lost_to_who_paid(
    ledger: Ledger, clock: TurnedClock
) -> None:
    pay(ledger)
    clock.now += 999
    with pytest.raises(AnswerPending):
        pay(ledger)
    clock.now += 1
    for _ in range(3):
        with pytest.raises(
            AnswerLost, match=r"charged and its answer was lost.* new idempotency key"
        ):
            pay(ledger)
    assert ledger.find_release(ask("count")) is None
    assert ledger.status("patients").spent == Loss.pure("0.1")


def test_after_the_lease_another_may_pay_for_a_draw_of_their_own(
    ledger: Ledger, clock: TurnedClock
) -> None:
    pay(ledger)
    clock.now += 1_000
    again = pay(ledger, principal="bob")
    assert ledger.status("patients").spent == Loss.pure("0.2")
    kept = ledger.keep(again, b"bob's")
    # and then it is everybody's
    assert ledger.reserve(ask("count"), lease_ms=1) == kept


def test_a_late_answer_is_kept_where_nobody_took_its_place(
    ledger: Ledger, clock: TurnedClock
) -> None:
    charge = pay(ledger)
    clock.now += 10**9
    kept = ledger.keep(charge, b"late")
    assert kept.body == b"late"
    assert ledger.reserve(ask("count"), lease_ms=1) == kept


def test_a_writer_whose_place_was_taken_gets_the_stored_bytes(
    ledger: Ledger, clock: TurnedClock
) -> None:
    slow = pay(ledger)
    clock.now += 1_000
    quick = pay(ledger, principal="bob")
    stored = ledger.keep(quick, b"quick")
    assert ledger.keep(slow, b"slow") == stored == StoredRelease(b"quick", quick.receipt)
    ledger.verify("patients")


def test_a_writer_whose_place_was_taken_may_not_answer_first(
    ledger: Ledger, clock: TurnedClock
) -> None:
    slow = pay(ledger)
    clock.now += 1_000
    quick = pay(ledger, principal="bob")
    with pytest.raises(AnswerLost):
        ledger.keep(slow, b"slow")
    assert ledger.keep(quick, b"quick").body == b"quick"


def test_an_abandoned_charge_stays_charged_and_holds_nobody_up(ledger: Ledger) -> None:
    charge = pay(ledger)
    ledger.abandon(charge)
    assert ledger.status("patients").spent == Loss.pure("0.1")
    with pytest.raises(AnswerLost):
        pay(ledger)
    pay(ledger, principal="bob")
    assert ledger.status("patients").spent == Loss.pure("0.2")


def test_an_answer_that_is_stored_cannot_be_abandoned(ledger: Ledger) -> None:
    charge = pay(ledger)
    kept = ledger.keep(charge, b"42")
    ledger.abandon(charge)
    assert ledger.find_release(ask("count")) == kept


def test_an_empty_answer_is_an_answer(ledger: Ledger) -> None:
    assert ledger.keep(pay(ledger), b"").body == b""
    assert ledger.find_release(ask("count")) is not None
    ledger.verify("patients")


@pytest.mark.parametrize("years", [-1, 1])
def test_a_clock_that_jumps_changes_no_sum(
    ledger: Ledger, clock: TurnedClock, years: int
) -> None:
    first = ledger.keep(pay(ledger), b"42")
    clock.now += years * 365 * 86_400_000
    clock.now = max(clock.now, 0)
    assert ledger.reserve(ask("count"), lease_ms=1) == first
    pay(ledger, "another")
    assert ledger.status("patients").spent == Loss.pure("0.2")
    ledger.verify("patients")
