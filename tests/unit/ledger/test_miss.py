"""Answers that are late: told in the chain, and no charge before an owner has looked."""

from collections.abc import Callable

import pytest
from asking import answer, ask, open_pure

from tacit.errors import AnswerLost, DeadlineMissed, InvalidValue, NotPermitted
from tacit.ledger.charge import Charge, StoredRelease
from tacit.ledger.ledger import Ledger
from tacit.ledger.verify import export, restore
from tacit.store.store import Store


def charged(ledger: Ledger, plan: str, **given: str) -> Charge:
    paid = ledger.reserve(ask(plan, **given), lease_ms=60_000)  # type: ignore[arg-type]
    assert isinstance(paid, Charge)
    return paid


def test_a_late_answer_stops_all_charges_about_the_same_people(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    open_pure(ledger, name="staff")
    kept = answer(ledger, ask("before"))
    late, under_way = charged(ledger, "late"), charged(ledger, "under way")
    ledger.miss(late)
    status = ledger.status("patients")
    assert (status.missed, status.locked) == (1, True)
    for who in ("ann", "bob"):
        with pytest.raises(DeadlineMissed, match="tacit ledger look patients"):
            ledger.reserve(ask("after", principal=who), lease_ms=1)
    with pytest.raises(AnswerLost):
        ledger.reserve(ask("late"), lease_ms=1)
    assert ledger.status("patients") == status
    # what was stored is told, what was charged before is answered, and others are charged
    assert ledger.reserve(ask("before"), lease_ms=1) == kept
    assert ledger.keep(under_way, b"an answer").body == b"an answer"
    assert not ledger.status("staff").locked
    assert ledger.verify("patients")


def test_an_owner_looks_and_what_was_late_is_counted_for_ever(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    for late in range(2):
        ledger.miss(charged(ledger, f"late {late}"))
        with pytest.raises(NotPermitted, match="ann does not own"):
            ledger.look("patients", by="ann")
        assert ledger.status("patients").locked
        ledger.look("patients", by="olga")
        assert charged(ledger, f"after {late}").records[0].late == late + 1
    with pytest.raises(InvalidValue, match="no late or failed answer about 'patients'"):
        ledger.look("patients", by="olga")
    assert ledger.status("patients").missed == 2
    assert ledger.verify("patients")


def test_a_restored_ledger_is_locked_as_it_was(
    store: Store, new_store: Callable[[str], str], opened: Callable[[str], Store]
) -> None:
    ledger, other = Ledger(store), opened(new_store("sqlite"))
    open_pure(ledger)
    kept = answer(ledger, ask("before"))
    ledger.miss(charged(ledger, "late"))
    restore(other, export(store))
    assert Ledger(other).status("patients") == ledger.status("patients")
    found = Ledger(other).reserve(ask("before"), lease_ms=1)
    assert isinstance(found, StoredRelease)
    assert found.body == kept.body
    with pytest.raises(DeadlineMissed):
        Ledger(other).reserve(ask("after"), lease_ms=1)
