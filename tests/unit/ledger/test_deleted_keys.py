"""Keys of owners that somebody deletes in the store are noticed before an act is accepted."""

from collections.abc import Callable

import pytest
from signing import ONE, as_owner, key_of, open_signed

from tacit.core.loss import Loss
from tacit.errors import LedgerBroken
from tacit.ledger import owner_keys
from tacit.ledger.entries import Approved, decode_act
from tacit.ledger.ledger import Ledger
from tacit.store.key_files import SigningKey
from tacit.store.store import Store
from tacit.store.tables import owner_keys as table

DELETED = "the keys of owners in the store are not those of the chain"
Act = Callable[[Ledger], object]

ACTS: dict[str, Act] = {
    "raise the cap": lambda one: one.raise_cap("patients", ONE, "mine", by="olga"),
    "approve": lambda one: one.approve("patients", 11, by="omar"),
    "set a quota": lambda one: one.set_quota("patients", "ann", ONE, by="olga"),
    "grant a quota": lambda one: one.grant_quota("patients", 13, by="olga"),
    "decline a quota": lambda one: one.decline_quota("patients", 13, by="olga"),
    "declare": lambda one: one.declare("patients", (), by="olga"),
    "thaw": lambda one: one.thaw("patients", by="olga"),
}


@pytest.fixture
def store(new_store: Callable[[str], str], opened: Callable[[str], Store]) -> Store:
    return opened(new_store("sqlite"))


@pytest.fixture
def two(store: Store) -> Ledger:
    """Two owners with keys, a proposal in entry 11, and a request for a quota in entry 13."""
    ledger = open_signed(Ledger(store, key=SigningKey(bytes(32))))
    as_owner(ledger, "olga").set_quota("patients", "ann", Loss.pure("0.1"), by="olga")
    as_owner(ledger, "olga").raise_cap("patients", ONE, "why", by="olga")
    ledger.request_quota("patients", Loss.pure("0.2"), by="ann")
    return ledger


def delete_keys(store: Store) -> None:
    with store.writing() as work:
        work.run(table.delete(), {})


def test_the_numbers_of_the_entries_are_those(two: Ledger) -> None:
    assert list(two.waiting_proposals("patients")) == [11]
    assert list(two.quota_requests("patients")) == [13]


@pytest.mark.parametrize("name", ACTS)
def test_no_act_is_accepted_without_the_keys_of_the_chain(
    two: Ledger, store: Store, name: str
) -> None:
    before = two.chain_ends()
    delete_keys(store)
    with pytest.raises(LedgerBroken, match=DELETED):
        ACTS[name](two)
    assert two.chain_ends() == before


def test_a_freeze_is_an_emergency_and_goes_through(two: Ledger, store: Store) -> None:
    delete_keys(store)
    two.freeze("patients", by="olga")
    assert two.status("patients").frozen


def test_whoever_opens_or_applies_reads_the_book_and_notices(two: Ledger, store: Store) -> None:
    delete_keys(store)
    for read in (two.current_book, lambda _: two.check_kept()):
        with pytest.raises(LedgerBroken, match=DELETED):
            read("patients")
    with two.governing(by="olga") as acts, pytest.raises(LedgerBroken, match=DELETED):
        acts.current_book("patients")


def test_a_key_of_a_thief_in_the_table_signs_nothing(two: Ledger, store: Store) -> None:
    thief = key_of("a thief").key
    with store.writing() as work:
        keys = owner_keys.keys_in(work, "patients").after(owner_keys.KeySet("omar", thief), 3)
        owner_keys.write_keys(work, "patients", keys)
    with pytest.raises(LedgerBroken, match=DELETED):
        two.signed_by(key_of("a thief")).approve("patients", 11, by="omar")


def test_without_the_comparison_the_act_would_be_accepted(two: Ledger, store: Store) -> None:
    """The lie: a ledger without a checkpoint key, which reads no chain, takes it."""
    delete_keys(store)
    Ledger(store).approve("patients", 11, by="omar")
    last = decode_act(two.entries("patients")[-1].body)
    assert isinstance(last, Approved)  # and no signature after it
    with pytest.raises(LedgerBroken, match="is missing"):
        two.verify("patients")
