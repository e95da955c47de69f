"""A ledger as lines of text: nothing is lost on the way, and nothing broken gets in."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from asking import answer, ask, run
from history import charged, joint, write_history

from tacit.core.loss import Loss
from tacit.errors import AnswerLost, BudgetExceeded, InvalidValue, LedgerBroken, NotPermitted
from tacit.ledger.chain import take_anchor
from tacit.ledger.charge import Charge, StoredRelease
from tacit.ledger.declarations import AnyDeclaration
from tacit.ledger.entries import OwnerAdded
from tacit.ledger.ledger import Ledger
from tacit.ledger.verify import export, read_export, restore, verify_export
from tacit.store.store import Store

Empty = Callable[[str], Store]


@pytest.fixture
def empty(new_store: Callable[[str], str], opened: Callable[[str], Store]) -> Empty:
    """A new store of a kind."""
    return lambda kind: opened(new_store(kind))


@pytest.fixture
def written(empty: Empty) -> Store:
    store = empty("sqlite")
    write_history(Ledger(store))
    return store


def test_there_and_back_again_the_same_lines(written: Store, empty: Empty) -> None:
    there, back = empty("postgresql"), empty("sqlite")
    restore(there, export(written), take_anchor(written))
    restore(back, (line.rstrip("\n") for line in export(there)))
    assert list(export(there)) == list(export(back)) == list(export(written))
    assert take_anchor(back) == take_anchor(written)
    for store in (there, back):
        for name in ("patients", "staff"):
            kept, moved = Ledger(written).verify(name), Ledger(store).verify(name)
            assert moved == kept
            assert Ledger(store).status(name) == Ledger(written).status(name)


def test_after_a_move_all_is_as_it_was(written: Store, store: Store) -> None:
    before = Ledger(written)
    restore(store, export(written))
    ledger = Ledger(store)

    for question in (ask("count 1", principal="bob"), joint("both")):
        kept = before.reserve(question, lease_ms=1)
        assert isinstance(kept, StoredRelease)
        assert ledger.reserve(question, lease_ms=1) == kept
        assert ledger.reserve(replace(question, request="mine"), lease_ms=1) == kept
    for lost in (ask("count 5", principal="cem"), joint("both, lost")):
        with pytest.raises(AnswerLost):
            ledger.reserve(lost, lease_ms=1)
    assert ledger.status("patients") == before.status("patients")

    with pytest.raises(NotPermitted):
        ledger.propose("patients", OwnerAdded("eve"), by="omar")  # who was removed
    chain = read_export(export(written)).chains["patients"]
    waiting = next(entry.seq for entry in chain if "nobody agreed" in entry.body)
    ledger.approve("patients", waiting, by="owen")
    assert ledger.status("patients").cap == Loss.pure("12.5")
    for number in range(4):
        answer(ledger, ask(f"more {number}"))
    with pytest.raises(BudgetExceeded, match="quota of ann"):
        answer(ledger, ask("beyond the quota"))
    ledger.verify("patients", take_anchor(written))


def test_a_lost_answer_can_be_paid_for_anew_after_a_move(written: Store, store: Store) -> None:
    restore(store, export(written))
    ledger = Ledger(store).under(AnyDeclaration())
    paid = charged(ledger, joint_again := replace(joint("both, lost"), request="a new key"))
    assert isinstance(paid, Charge)
    kept = ledger.keep(paid, run(paid))
    assert ledger.find_release(joint("both, lost")) == kept == ledger.find_release(joint_again)
    ledger.verify("staff")


def test_a_store_that_is_not_empty_is_left_alone(written: Store, store: Store) -> None:
    write_history(Ledger(store), 3)
    before = list(export(store))
    with pytest.raises(InvalidValue, match="into an empty store"):
        restore(store, export(written))
    assert list(export(store)) == before


def test_an_export_that_is_older_than_the_anchor_is_refused(
    written: Store, empty: Empty
) -> None:
    old = list(export(written))
    answer(Ledger(written), ask("one more"))
    anchor, target = take_anchor(written), empty("sqlite")
    with pytest.raises(LedgerBroken, match="was anchored"):
        restore(target, old, anchor)
    with pytest.raises(LedgerBroken, match="was anchored, but it is missing"):
        verify_export(read_export(old[:1]), anchor)
    restore(target, old)  # the lie: without the anchor, an old export is believed


@pytest.mark.parametrize("first", ['{"tacit ledger":2}\n', '{"tacit ledger":true}\n', "", "{}"])
def test_another_format_is_named(first: str) -> None:
    with pytest.raises(InvalidValue, match="not an exported ledger of format 1"):
        read_export([first])
    with pytest.raises(InvalidValue, match="not an exported ledger of format 1"):
        read_export([])
