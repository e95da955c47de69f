"""An anchor says since when acts are signed, and a ledger from before that is noticed."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from asking import answer, ask, population
from signing import TWO, as_owner, key_of, open_signed, propose_key

from tacit.core.loss import Budget, Loss
from tacit.errors import InvalidValue, LedgerBroken
from tacit.ledger.anchored_keys import known_keys
from tacit.ledger.chain import Anchor, append, check_anchor, take_anchor, time_of_anchor
from tacit.ledger.chain_acts import Restored
from tacit.ledger.ledger import Ledger
from tacit.ledger.verify import export, read_export, restore_within, verify
from tacit.store.key_files import SigningKey
from tacit.store.store import Store

Opener = Callable[[str], Store]
KEY = SigningKey(bytes(32))


@pytest.fixture
def store(new_store: Callable[[str], str], opened: Opener) -> Store:
    return opened(new_store("sqlite"))


@pytest.fixture
def other(new_store: Callable[[str], str], opened: Opener) -> Store:
    return opened(new_store("sqlite"))


def open_two(store: Store) -> Ledger:
    ledger = Ledger(store)
    ledger.open_budget(population(), Budget(Loss.pure(9)), TWO, by="olga")
    return ledger


def copy_to(other: Store, store: Store) -> Ledger:
    """A restored copy of the whole ledger."""
    exported = read_export(export(store))
    books = [verify(name, chain) for name, chain in exported.chains.items()]
    with other.writing() as work:
        restore_within(work, exported, books)
    return Ledger(other)


def sign_up(ledger: Ledger) -> None:
    """Both owners get keys."""
    ledger.approve("patients", propose_key(ledger, "olga").seq, by="omar")
    place = propose_key(ledger, "omar").seq
    as_owner(ledger, "olga").approve("patients", place, by="olga")


def test_an_anchor_says_since_when_and_with_which_keys(store: Store) -> None:
    open_signed(Ledger(store))
    [head] = take_anchor(store).heads
    assert head.signed == 4  # the approval of the first key
    assert set(head.keys) == {key_of(name).key for name in TWO}
    signed = take_anchor(store).sign(KEY, 7)
    assert Anchor.of(signed.text) == signed
    assert '"tacit anchor":3' in signed.text


def test_an_anchor_of_the_format_before_is_read_and_does_not_say_it(store: Store) -> None:
    open_signed(Ledger(store))
    [head] = take_anchor(store).heads
    before = Anchor((replace(head, signed=None, keys=()),)).sign(KEY, 7)
    assert '"tacit anchor":2' in before.text
    assert Anchor.of(before.text) == before
    check_anchor(store, before)


def test_no_field_of_it_can_be_changed(store: Store) -> None:
    open_signed(Ledger(store))
    text = take_anchor(store).sign(KEY, 7).text
    for before, after in (
        (key_of("olga").key, key_of("eve").key),
        (",4,[", ",0,["),
        (",4,[", ',"4",['),
    ):
        assert before in text
        with pytest.raises(InvalidValue, match="not an anchor"):
            Anchor.of(text.replace(before, after))


def test_a_ledger_from_before_the_first_key_is_noticed(store: Store, other: Store) -> None:
    """Although an act without a signature, which it accepts, satisfies the lost entry."""
    ledger = open_two(store)
    old = copy_to(other, store)
    sign_up(ledger)
    answer(ledger, ask("lost"))
    anchor = take_anchor(store)
    with pytest.raises(InvalidValue, match="were signed since entry 4, and the key"):
        old.charge_difference(anchor, by="olga")
    [head] = anchor.heads
    with other.writing() as work:  # whoever may write the store does it by hand
        append(work, "patients", Restored(head.seq, head.hash.hex(), 0, 0, "olga", 7))
    unsummed = Anchor((replace(head, spent=take_anchor(other).heads[0].spent),))
    with pytest.raises(LedgerBroken, match="signed since entry 4, and the key"):
        check_anchor(other, unsummed)
    with pytest.raises(LedgerBroken, match="signed since entry 4, and the key"):
        old.verify("patients", unsummed)
    # the lie: nothing else is wrong with it
    check_anchor(other, Anchor((replace(unsummed.heads[0], keys=()),)))


def test_keys_of_others_do_not_help(store: Store, other: Store) -> None:
    ledger = open_two(store)
    old = copy_to(other, store)
    sign_up(ledger)
    anchor = take_anchor(store)
    old.approve("patients", propose_key(old, "olga", "a thief").seq, by="omar")
    with pytest.raises(InvalidValue, match="is not known here"):
        old.signed_by(key_of("a thief")).charge_difference(anchor, by="olga")


def test_owners_who_set_their_keys_again_charge_the_difference(
    store: Store, other: Store
) -> None:
    ledger = open_two(store)
    old = copy_to(other, store)
    sign_up(ledger)
    answer(ledger, ask("lost"))
    anchor = take_anchor(store)
    sign_up(old)
    assert len(as_owner(old, "olga").charge_difference(anchor, by="olga")) == 1
    check_anchor(other, anchor)
    old.verify("patients", anchor)


def test_a_key_that_was_replaced_since_is_no_loss(store: Store) -> None:
    ledger = open_signed(Ledger(store))
    anchor = take_anchor(store)
    place = propose_key(ledger, "olga", "olga's second key").seq
    as_owner(ledger, "omar").approve("patients", place, by="omar")
    check_anchor(store, anchor)
    ledger.verify("patients", anchor)
    with store.reading() as work:
        assert len(known_keys(work, "patients")) == 3


# ------------------------------------------------------------------ the time of an anchor


def test_an_anchor_is_not_older_than_its_charges(store: Store) -> None:
    """A charge reads the clock of its server before it is written."""
    open_two(store)
    answer(Ledger(store, clock=lambda: 1000), ask("a"))
    assert time_of_anchor(store, lambda: 900) == 1000
    assert time_of_anchor(store, lambda: 1100) == 1100


@pytest.mark.parametrize(("asked_at", "refused"), [(900, False), (1000, False), (1001, True)])
def test_a_copy_is_used_if_it_was_charged_after_the_anchor(
    store: Store,
    other: Store,
    asked_at: int,
    refused: bool,  # noqa: FBT001
) -> None:
    ledger = open_two(store)
    answer(Ledger(store, clock=lambda: asked_at), ask("in the copy"))
    old = copy_to(other, store)
    answer(Ledger(store, clock=lambda: 800), ask("lost"))
    anchor = take_anchor(store).sign(KEY, 1000)
    assert ledger.verify("patients", anchor).anchored
    if refused:
        with pytest.raises(InvalidValue, match="was used after the newest anchor"):
            old.charge_difference(anchor, by="olga")
    else:
        assert len(old.charge_difference(anchor, by="olga")) == 1
