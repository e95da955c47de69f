"""Sealed states in the chain, and answers that are computed from them one after the other."""

from typing import Any

import pytest
from asking import ask, open_pure
from fake_clock import TurnedClock

from tacit.errors import AnswerLost, LedgerBroken
from tacit.ledger.charge import Charge, StoredRelease
from tacit.ledger.entries import AnswerStored, StateSealed, decode_act, encode_act
from tacit.ledger.ledger import Ledger
from tacit.ledger.sealed_states import ChainWitness, state_hash
from tacit.store.sealed_state import NO_STATE, SealingKey, State, States, Witnessed
from tacit.store.store import Store

NAME = "threshold of a holdout"
FIRST, SECOND = Witnessed(1, b"\x0a" * 32), Witnessed(2, b"\x0b" * 32)


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
def ledger(store: Store, clock: TurnedClock) -> Ledger:
    made = Ledger(store, clock=clock)
    open_pure(made)
    return made


@pytest.fixture
def states(store: Store) -> States:
    return States(store, SealingKey(bytes(32)), ChainWitness()).of("patients")


def pay(ledger: Ledger, plan: str, principal: str = "ann") -> Charge:
    paid = ledger.reserve(ask(plan, principal=principal), lease_ms=1_000)
    assert isinstance(paid, Charge)
    return paid


def add_one(seen: State) -> tuple[bytes, bytes]:
    """Answer with what was stored, and store one byte more."""
    return b"answer " + seen.value, seen.value + b"+"


# ---------------------------------------------------------------- the witness


def test_the_chain_tells_the_newest_version_of_each_state(ledger: Ledger, store: Store) -> None:
    open_pure(ledger, name="staff")
    witness = ChainWitness()
    with store.writing() as work:
        for last in (FIRST, SECOND):
            witness.remember(work, "patients", NAME, last)
        witness.remember(work, "patients", "another", FIRST)
    with store.reading() as work:
        assert witness.recall(work, "patients", NAME) == SECOND
        assert witness.recall(work, "patients", "another") == FIRST
        assert witness.recall(work, "patients", "a third") is None
        assert witness.recall(work, "staff", NAME) is None
    acts = [decode_act(entry.body) for entry in ledger.entries("patients", after=1)]
    assert acts[0] == StateSealed(state_hash(NAME), 1, "0a" * 32)
    assert len(acts) == 3
    ledger.verify("patients")


@pytest.mark.parametrize(
    "act",
    [
        StateSealed(state_hash("another"), 1, "0a" * 32),
        AnswerStored(charge=2, release="0a" * 32, answer="0b" * 32, at=3),
    ],
)
def test_an_index_that_names_another_entry_is_not_believed(
    act: StateSealed | AnswerStored,
) -> None:
    class Mistaken:
        def one(self, *_: object) -> tuple[str]:
            return (encode_act(act),)

    work: Any = Mistaken()
    with pytest.raises(LedgerBroken, match="names an entry of 'patients' that is about"):
        ChainWitness().recall(work, "patients", NAME)


# ---------------------------------------------------------------- turns


def test_each_answer_is_computed_from_the_state_that_the_last_one_wrote(
    ledger: Ledger, states: States, clock: TurnedClock
) -> None:
    told = []
    for plan in ("first", "second", "third"):
        charge = pay(ledger, plan)
        clock.now += 5
        found = ledger.take_turn(charge, states, NAME, add_one)
        assert found.receipt == charge.receipt
        assert ledger.find_release(ask(plan)) == found
        told.append(found.body)
    assert told == [b"answer ", b"answer +", b"answer ++"]
    assert states.find(NAME) == State(3, b"+++")
    acts = [decode_act(entry.body) for entry in ledger.entries("patients")]
    stored = [act.at for act in acts if isinstance(act, AnswerStored)]
    assert stored == [1_000_005, 1_000_010, 1_000_015]
    ledger.verify("patients")


def test_a_second_turn_of_a_charge_returns_its_answer_and_leaves_the_state(
    ledger: Ledger, states: States
) -> None:
    charge = pay(ledger, "count")
    first = ledger.take_turn(charge, states, NAME, add_one)
    assert first == StoredRelease(b"answer ", charge.receipt)
    assert ledger.take_turn(charge, states, NAME, add_one) == first
    assert states.find(NAME) == State(1, b"+")


def test_a_charge_whose_place_was_taken_changes_no_state(
    ledger: Ledger, states: States, clock: TurnedClock
) -> None:
    slow = pay(ledger, "count")
    clock.now += 1_000
    quick = pay(ledger, "count", principal="bob")
    with pytest.raises(AnswerLost):
        ledger.take_turn(slow, states, NAME, add_one)
    assert states.find(NAME) == NO_STATE
    told = ledger.take_turn(quick, states, NAME, add_one)
    assert ledger.take_turn(slow, states, NAME, add_one) == told


def test_a_decision_that_fails_writes_nothing(ledger: Ledger, states: States) -> None:
    charge = pay(ledger, "count")
    before = ledger.entries("patients")

    def fail(seen: State) -> tuple[bytes, bytes]:
        assert seen == NO_STATE
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ledger.take_turn(charge, states, NAME, fail)
    assert ledger.entries("patients") == before
    assert ledger.take_turn(charge, states, NAME, add_one).body == b"answer "
