"""Leases are short, extended while a process works, and silent when it may be dead."""

import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from threading import Thread

import pytest
from asking import ask, open_pure
from fake_clock import TurnedClock

from tacit.errors import KeyReused, StoreFailed
from tacit.ledger.charge import Charge, StoredRelease
from tacit.ledger.lease import LeaseKeeper, LeaseState, extend_leases
from tacit.ledger.ledger import Ledger
from tacit.store.store import Store

LEASE = 1_000


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
def store(new_store: Callable[[str], str], opened: Callable[[str], Store]) -> Store:
    return opened(new_store("sqlite"))


@pytest.fixture
def ledger(store: Store, clock: TurnedClock) -> Ledger:
    made = Ledger(store, clock=clock)
    open_pure(made, "1")
    return made


def charged(ledger: Ledger, plan: str = "a") -> Charge:
    found = ledger.reserve(ask(plan), lease_ms=LEASE)
    assert isinstance(found, Charge)
    return found


def test_a_lease_is_held_then_silent_and_held_again_once_it_is_extended(
    ledger: Ledger, clock: TurnedClock
) -> None:
    assert ledger.lease_state(ask("a")) is LeaseState.NONE
    charge = charged(ledger)
    assert ledger.lease_state(ask("a")) is LeaseState.HELD
    clock.now += LEASE
    assert ledger.lease_state(ask("a")) is LeaseState.SILENT
    ledger.extend_leases([charge], LEASE)
    assert ledger.lease_state(ask("a")) is LeaseState.HELD
    ledger.keep(charge, b"an answer")
    assert ledger.lease_state(ask("a")) == StoredRelease(b"an answer", charge.receipt)


def test_a_key_of_another_question_finds_no_stored_answer(ledger: Ledger) -> None:
    ledger.keep(charged(ledger, "a"), b"an answer")
    ledger.reserve(ask("b", request="mine"), lease_ms=LEASE)
    with pytest.raises(KeyReused):
        ledger.lease_state(ask("a", request="mine"))
    found = ledger.lease_state(ask("a", request="another"))
    assert isinstance(found, StoredRelease)


def test_what_was_ended_parked_or_stored_is_not_extended(ledger: Ledger) -> None:
    ended, parked, kept = (charged(ledger, plan) for plan in "abc")
    ledger.abandon(ended)
    ledger.park(parked)
    ledger.keep(kept, b"an answer")
    ledger.extend_leases([ended, parked, kept], LEASE)
    assert ledger.lease_state(ask("a")) is LeaseState.ENDED
    assert ledger.lease_state(ask("b")) is LeaseState.PARKED
    assert isinstance(ledger.lease_state(ask("c")), StoredRelease)


def test_a_request_that_was_charged_is_known_and_another_is_not(ledger: Ledger) -> None:
    charged(ledger)
    assert ledger.is_charged(ask("a"))
    assert not ledger.is_charged(ask("a", request="another"))
    assert not ledger.is_charged(ask("b"))


def test_a_lease_that_another_took_over_is_not_extended(
    ledger: Ledger, store: Store, clock: TurnedClock
) -> None:
    first = charged(ledger)
    clock.now += LEASE
    second = ledger.reserve(ask("a", request="another"), lease_ms=LEASE)
    assert isinstance(second, Charge)
    clock.now += LEASE
    extend_leases(store, [first], clock.now + LEASE)
    assert ledger.lease_state(ask("a")) is LeaseState.SILENT
    extend_leases(store, [second], clock.now + LEASE)
    assert ledger.lease_state(ask("a")) is LeaseState.HELD


class Extended:
    """A ledger that notes which leases are extended, and may fail."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []
        self.failing = False

    def extend_leases(self, charges: Iterable[Charge], lease_ms: int) -> None:
        assert lease_ms == LEASE
        if self.failing:
            raise StoreFailed("It is away.")
        self.seen += [charge.receipt for charge in charges]


def wait_until(true: Callable[[], bool]) -> None:
    ends = time.monotonic() + 20
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.005)


def test_a_keeper_extends_what_is_held_and_survives_a_store_that_is_away(
    ledger: Ledger,
) -> None:
    keeper, told = LeaseKeeper(pause=0.01, lease_ms=LEASE), Extended()
    one, two = charged(ledger, "a"), charged(ledger, "b")
    with keeper.hold(told, one):
        with keeper.hold(told, two):
            wait_until(lambda: {one.receipt, two.receipt} <= set(told.seen))
        told.failing = True
        time.sleep(0.05)
        told.failing = False
        told.seen.clear()
        wait_until(lambda: len(told.seen) > 1)
        assert set(told.seen[1:]) == {one.receipt}
    time.sleep(0.05)
    told.seen.clear()
    time.sleep(0.05)
    assert told.seen == []


def test_a_quick_question_costs_no_extension(ledger: Ledger) -> None:
    keeper, told, charge = LeaseKeeper(pause=0.2, lease_ms=LEASE), Extended(), charged(ledger)
    ends = time.monotonic() + 0.5
    while time.monotonic() < ends:
        with keeper.hold(told, charge):
            time.sleep(0.001)
    assert told.seen == []


def test_an_error_of_any_kind_does_not_end_the_keeper(ledger: Ledger) -> None:
    class Faulty(Extended):
        def extend_leases(self, charges: Iterable[Charge], lease_ms: int) -> None:
            super().extend_leases(charges, lease_ms)
            raise OverflowError

    keeper, told, charge = LeaseKeeper(pause=0.01, lease_ms=LEASE), Faulty(), charged(ledger)
    with keeper.hold(told, charge):
        wait_until(lambda: len(told.seen) > 2)


def test_a_child_extends_its_own_leases_and_not_those_of_its_parent(ledger: Ledger) -> None:
    keeper, told = LeaseKeeper(pause=0.01, lease_ms=LEASE), Extended()
    theirs, mine = charged(ledger, "a"), charged(ledger, "b")
    keeper._held[theirs.receipt] = 0.0, told, theirs
    keeper._thread = Thread()  # as in a child, where the thread of the parent does not run
    keeper._home -= 1
    with keeper.hold(told, mine):
        wait_until(lambda: len(told.seen) > 2)
    assert set(told.seen) == {mine.receipt}


def test_who_ends_does_not_end_the_lease_of_who_resumed_the_charge(ledger: Ledger) -> None:
    keeper, told, charge = LeaseKeeper(pause=0.01, lease_ms=LEASE), Extended(), charged(ledger)
    with ExitStack() as resumed:
        with keeper.hold(told, charge):
            resumed.enter_context(keeper.hold(told, charge))
        told.seen.clear()
        wait_until(lambda: len(told.seen) > 2)
    assert not keeper._held
