"""Charges that failed, were run twice or wait for their engine, and the least price."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from asking import answer, ask, open_pure
from sqlalchemy import update

from tacit.core.event import LaplaceNoise, Nothing
from tacit.core.loss import Loss
from tacit.errors import (
    AnswerLost,
    AnswerPending,
    EngineUnreachable,
    InvalidValue,
    LedgerBroken,
    NotPermitted,
    PopulationLocked,
    StoreFailed,
)
from tacit.ledger import unanswered
from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease, Units
from tacit.ledger.ledger import Ledger
from tacit.ledger.verify import export, restore
from tacit.store.store import Store
from tacit.store.tables import budgets

TINY = LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(10**9))
"""Noise that costs an epsilon of 10^-9, below the least price of a budget of 1."""


_FORGET = update(budgets).values(least_amount=0)
"""What somebody who holds the database would write to ask for less."""


def charged(ledger: Ledger, plan: str, **given: object) -> Charge:
    paid = ledger.reserve(ask(plan, **given), lease_ms=60_000)  # type: ignore[arg-type]
    assert isinstance(paid, Charge)
    return paid


def refused(ledger: Ledger, question: ChargeRequest) -> str:
    with pytest.raises(PopulationLocked) as told:
        ledger.reserve(question, lease_ms=1)
    return str(told.value)


def test_what_an_owner_has_not_looked_at_is_listed_and_nothing_else(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    answer(ledger, ask("before"))
    assert ledger.unreviewed_incidents("patients") == ()
    twice, gone = charged(ledger, "twice"), charged(ledger, "gone")
    ledger.retry(twice)
    ledger.fail(gone)
    listed = [
        (type(act).__name__, act.charge) for act in ledger.unreviewed_incidents("patients")
    ]
    places = [charge.entries[0].seq for charge in (twice, gone)]
    assert listed == [("Retried", places[0]), ("Failed", places[1])]
    ledger.look("patients", by="olga")
    assert ledger.unreviewed_incidents("patients") == ()
    late = charged(ledger, "late")
    ledger.miss(late)
    [act] = ledger.unreviewed_incidents("patients")
    assert (type(act).__name__, act.charge) == ("Missed", late.entries[0].seq)


def test_a_look_covers_what_it_shows_and_nothing_else(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails while an owner looks is shown to them, or waits for another look."""
    ledger = Ledger(store)
    open_pure(ledger)
    first, meanwhile = charged(ledger, "first"), charged(ledger, "meanwhile")
    ledger.fail(first)
    found = unanswered.incidents_since_review

    def slow(*given: Any) -> Any:
        marks = found(*given)
        if len(given) == 2:  # before others wait for this owner
            monkeypatch.undo()
            ledger.fail(meanwhile)
        return marks

    monkeypatch.setattr(unanswered, "incidents_since_review", slow)
    shown = [act.charge for act in ledger.look("patients", by="olga")]
    assert shown == [charge.entries[0].seq for charge in (first, meanwhile)]
    receipts = [ledger.receipt_at("patients", place) for place in shown]
    assert receipts == [first.receipt, meanwhile.receipt]
    for place in (1, 99):  # the opening of the budget, and nothing at all
        with pytest.raises(InvalidValue, match=f"Entry {place} of 'patients' is not a charge"):
            ledger.receipt_at("patients", place)
    assert ledger.unreviewed_incidents("patients") == ()
    last = charged(ledger, "last")
    ledger.fail(last)
    assert [act.charge for act in ledger.look("patients", by="olga")] == [last.entries[0].seq]


def test_a_failure_stops_all_charges_until_an_owner_looks(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    open_pure(ledger, name="staff")
    kept = answer(ledger, ask("before"))
    assert ledger.fail(charged(ledger, "fails")) is None
    status = ledger.status("patients")
    assert (status.failed, status.retried, status.locked) == (1, 0, True)
    for who in ("ann", "bob"):
        assert "tacit ledger look patients" in refused(ledger, ask("after", principal=who))
    assert ledger.status("patients") == status  # nothing was charged
    assert ledger.reserve(ask("before"), lease_ms=1) == kept
    with pytest.raises(AnswerLost):
        ledger.reserve(ask("fails"), lease_ms=1)
    assert not ledger.status("staff").locked
    with pytest.raises(NotPermitted):
        ledger.look("patients", by="ann")
    ledger.look("patients", by="olga")
    assert "1 failed answer failed" in charged(ledger, "after").assumptions[0]
    assert ledger.verify("patients")


def test_every_third_retry_stops_charges(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    for place in range(6):
        paid = charged(ledger, f"tried twice {place}")
        assert paid.records[0].retried == place
        ledger.retry(paid)
        assert paid.run_again().records[0].retried == place + 1
        ledger.keep(paid, b"an answer")
        assert ledger.status("patients").locked == (place % 3 == 2)
        if place % 3 == 2:
            assert "look patients" in refused(ledger, ask("after"))
            ledger.look("patients", by="olga")
    assert ledger.status("patients").retried == 6
    assert ledger.verify("patients")


def test_an_answer_that_was_stored_after_all_has_not_failed(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    paid = charged(ledger, "stored")
    ledger.keep(paid, b"an answer")
    assert ledger.fail(paid) == StoredRelease(b"an answer", paid.receipt)
    assert not ledger.status("patients").locked
    assert ledger.verify("patients")


def test_a_charge_that_waits_is_taken_up_by_whoever_asks_the_same(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    first = charged(ledger, "waits")
    spent = ledger.status("patients").spent
    ledger.park(first)
    with pytest.raises(EngineUnreachable, match="ask the same question again"):
        ledger.find_release(ask("waits"))
    again = charged(ledger, "waits", principal="bob")
    assert (again.receipt, again.entries) == (first.receipt, first.entries)
    with pytest.raises(AnswerPending):  # one at a time
        ledger.reserve(ask("waits"), lease_ms=1)
    assert ledger.keep(again, b"an answer").body == b"an answer"
    assert ledger.status("patients").spent == spent
    assert not ledger.status("patients").locked
    assert ledger.verify("patients")


def test_who_parked_a_charge_does_not_park_it_again_once_it_is_resumed(store: Store) -> None:
    """The reply to the first act was lost: two would compute the answer, with two draws."""
    ledger = Ledger(store)
    open_pure(ledger)
    first = charged(ledger, "waits")
    ledger.park(first)
    again = charged(ledger, "waits", principal="bob")
    ledger.park(first)
    with pytest.raises(AnswerPending):
        ledger.reserve(ask("waits"), lease_ms=1)
    ledger.park(again)  # its own process may
    third = charged(ledger, "waits", principal="eve")
    ledger.park(again)
    ledger.park(first)
    with pytest.raises(AnswerPending):
        ledger.reserve(ask("waits"), lease_ms=1)
    assert ledger.keep(third, b"an answer").receipt == first.receipt
    assert ledger.verify("patients")


def test_a_charge_that_took_over_a_place_can_be_parked(store: Store) -> None:
    now = [0]
    ledger = Ledger(store, clock=lambda: now[0])
    open_pure(ledger)
    ledger.park(charged(ledger, "waits"))
    charged(ledger, "waits", principal="bob")
    now[0] = 60_000  # its lease has run out
    second = charged(ledger, "waits", principal="eve")
    ledger.park(second)
    assert charged(ledger, "waits", principal="ann").receipt == second.receipt


def test_an_incident_is_recorded_once_however_often_it_is_reported(store: Store) -> None:
    """The reply to the first act was lost, and a chain with the second would be broken."""
    ledger = Ledger(store)
    open_pure(ledger)
    late, gone, more = (charged(ledger, plan) for plan in ("late", "gone", "more"))
    for _ in range(3):
        ledger.retry(gone)
        ledger.miss(late)
    for _ in range(2):
        assert ledger.fail(gone) is None
    status = ledger.status("patients")
    assert (status.missed, status.failed, status.retried) == (1, 1, 1)
    ledger.retry(more)  # another charge
    assert ledger.status("patients").retried == 2
    assert ledger.verify("patients")
    assert len(ledger.look("patients", by="olga")) == 4
    assert not ledger.status("patients").locked


def test_an_incident_that_is_recorded_twice_breaks_the_chain(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lie: nobody looks whether it is recorded."""
    monkeypatch.setattr(unanswered, "_is_recorded", lambda *_: False)
    ledger = Ledger(store)
    open_pure(ledger)
    gone = charged(ledger, "gone")
    ledger.fail(gone)
    ledger.fail(gone)
    with pytest.raises(LedgerBroken, match="a charge fails once"):
        ledger.verify("patients")


def test_what_was_charged_and_has_not_begun_is_not_begun(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    waits = charged(ledger, "waits")
    ledger.park(waits)
    ledger.fail(charged(ledger, "fails"))
    assert "failed or was late" in refused(ledger, ask("waits"))
    ledger.look("patients", by="olga")
    assert charged(ledger, "waits").receipt == waits.receipt


def test_a_restored_ledger_knows_its_failures_and_its_least_price(
    store: Store, new_store: Callable[[str], str], opened: Callable[[str], Store]
) -> None:
    ledger, other = Ledger(store), opened(new_store("sqlite"))
    open_pure(ledger)
    ledger.set_least("patients", Fraction(1, 50), by="olga")
    paid = charged(ledger, "fails")
    ledger.retry(paid)
    ledger.fail(paid)
    restore(other, export(store))
    assert Ledger(other).status("patients") == ledger.status("patients")
    assert "look patients" in refused(Ledger(other), ask("after"))


def test_nothing_is_charged_below_the_least_price_but_what_is_free(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    least = ledger.status("patients").least
    assert least == Loss.pure("0.00001")
    charged(ledger, "tiny", event=TINY)
    assert ledger.status("patients").spent == least
    assert ledger.status("patients").questions_like(TINY) == 99_999
    charged(ledger, "a step that was paid for", event=Nothing())
    assert ledger.status("patients").spent == least
    ledger.set_least("patients", 0, by="olga")
    charged(ledger, "tiny again", event=TINY)
    assert ledger.status("patients").spent_units == Units(10_000_000 + 1000, 0)
    assert ledger.verify("patients")


def test_the_least_price_follows_a_cap_that_is_raised(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    ledger.raise_cap("patients", Loss.pure(1), "more", by="olga")
    assert ledger.status("patients").least == Loss.pure("0.00002")
    with pytest.raises(NotPermitted):
        ledger.set_least("patients", Fraction(1, 10), by="ann")
    with pytest.raises(InvalidValue, match="from 0 to 1"):
        ledger.set_least("patients", 2, by="olga")
    ledger.set_least("patients", Fraction(1, 10), by="olga")
    ledger.raise_cap("patients", Loss.pure(1), "more", by="olga")
    assert ledger.status("patients").least == Loss.pure("0.3")
    assert ledger.verify("patients")


def test_the_store_itself_refuses_a_charge_below_the_least_price(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were the raise forgotten above, the statement that decides every charge would refuse."""
    ledger = Ledger(store)
    open_pure(ledger)
    monkeypatch.setattr("tacit.ledger.reserve.at_least", lambda cost, _: cost)
    with pytest.raises(StoreFailed):  # it looks again, as if others were first, and gives up
        ledger.reserve(ask("tiny", event=TINY), lease_ms=1)
    assert ledger.status("patients").spent == Loss.pure(0)


def test_a_chain_with_a_charge_below_the_least_price_is_not_believed(
    store: Store,
) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    ledger.set_least("patients", Fraction(1, 10**5), by="olga")
    with store.writing() as work:
        work.run(_FORGET, {})
    charged(ledger, "tiny", event=TINY)
    with pytest.raises(LedgerBroken, match="at least the least price"):
        ledger.verify("patients")
