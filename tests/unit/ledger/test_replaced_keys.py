"""A second proposal of a key replaces the first, unless anybody could have made it."""

from collections.abc import Callable

import pytest
from asking import population
from signing import TWO, as_owner, key_of, open_signed, propose_key

from tacit.core.loss import Budget, Loss
from tacit.errors import InvalidValue
from tacit.ledger.ledger import Ledger
from tacit.ledger.owner_acts import KeySet
from tacit.store.store import Store


@pytest.fixture
def ledger(new_store: Callable[[str], str], opened: Callable[[str], Store]) -> Ledger:
    return Ledger(opened(new_store("sqlite")))


@pytest.fixture
def two(ledger: Ledger) -> Ledger:
    return open_signed(ledger)


@pytest.fixture
def unsigned(ledger: Ledger) -> Ledger:
    ledger.open_budget(population(), Budget(Loss.pure(9)), TWO, by="olga")
    return ledger


@pytest.mark.parametrize("second", ["olga", "another"])
def test_before_the_first_key_the_second_proposal_replaces_the_first(
    unsigned: Ledger, second: str
) -> None:
    propose_key(unsigned, "olga")
    place = propose_key(unsigned, "olga", second).seq
    assert list(unsigned.waiting_proposals("patients")) == [place]
    unsigned.approve("patients", place, by="omar")
    assert unsigned.owner_keys("patients").key_of("olga") == key_of(second).key
    unsigned.verify("patients")


def test_the_proposal_of_another_owner_stays(unsigned: Ledger) -> None:
    places = [propose_key(unsigned, name).seq for name in TWO]
    assert list(unsigned.waiting_proposals("patients")) == places


def test_an_owner_with_a_key_replaces_the_proposal_of_the_next_one(two: Ledger) -> None:
    olga = as_owner(two, "olga")
    for name in ("second", "third"):
        place = olga.propose("patients", KeySet("olga", key_of(name).key), by="olga").seq
    assert list(two.waiting_proposals("patients")) == [place]
    as_owner(two, "omar").approve("patients", place, by="omar")
    assert two.owner_keys("patients").key_of("olga") == key_of("third").key
    two.verify("patients")


def test_the_same_key_is_not_proposed_twice(two: Ledger) -> None:
    """Its owner has lost the present key, so that nobody can withdraw in their name."""
    place = propose_key(two, "olga", "second").seq
    before = two.chain_ends()
    with pytest.raises(InvalidValue, match=f"tacit ledger approve patients {place} "):
        propose_key(two, "olga", "second")
    assert two.chain_ends() == before


def test_whoever_has_no_key_of_the_owner_withdraws_nothing(two: Ledger) -> None:
    """Anybody with a shell can propose a key in the name of an owner."""
    mine = as_owner(two, "olga").propose(
        "patients", KeySet("olga", key_of("second").key), by="olga"
    )
    thief = propose_key(two, "olga", "a thief's key")
    assert list(two.waiting_proposals("patients")) == [mine.seq, thief.seq]
    as_owner(two, "omar").approve("patients", mine.seq, by="omar")
    assert two.owner_keys("patients").key_of("olga") == key_of("second").key
    two.verify("patients")
