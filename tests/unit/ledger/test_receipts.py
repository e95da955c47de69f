"""A receipt, or its first digits, names one charge, and a refusal shows no other receipt."""

import re

import pytest
from asking import answer, ask, open_pure
from history import charged, joint, write_history
from sqlalchemy import insert

from tacit.errors import InvalidValue, UnknownName
from tacit.ledger.chain import walk
from tacit.ledger.entries import Charged, decode_act
from tacit.ledger.history import HistoryFilter
from tacit.ledger.ledger import Ledger
from tacit.ledger.receipts import SHORTEST, charge_with, find_receipt, joint_entries
from tacit.store.store import Store
from tacit.store.tables import answers

WHOLE = re.compile("[0-9a-f]{64}")


@pytest.fixture
def ledger(store: Store) -> Ledger:
    found = Ledger(store)
    write_history(found)
    return found


@pytest.fixture
def both(store: Store) -> Ledger:
    """A ledger of two populations without declarations."""
    found = Ledger(store)
    open_pure(found)
    open_pure(found, name="staff")
    return found


def test_the_first_digits_are_enough(store: Store, ledger: Ledger) -> None:
    for plan in ("one more", "and another"):
        whole = answer(ledger, ask(plan)).receipt
        for digits in (SHORTEST, SHORTEST + 1, 12, 63, 64):
            assert find_receipt(store, whole.hex()[:digits]) == whole
        assert find_receipt(store, f"  {whole.hex()[:12].upper()} ", "patients") == whole


def test_a_charge_without_an_answer_has_a_receipt(store: Store, ledger: Ledger) -> None:
    paid = charged(ledger, ask("lost"))
    ledger.abandon(paid)
    assert find_receipt(store, paid.receipt.hex()[:10]) == paid.receipt


def test_digits_that_several_receipts_have_are_refused_and_show_none(
    store: Store, ledger: Ledger
) -> None:
    whole = answer(ledger, ask("one more")).receipt
    other = whole[:6] + bytes(26)
    with store.writing() as work:
        row = {"release": b"r" * 32, "receipt": other, "until": 0, "body": None, "places": None}
        work.run(insert(answers), row)
    with pytest.raises(InvalidValue, match="Give more of the digits") as refused:
        find_receipt(store, whole.hex()[:12])
    said = str(refused.value)
    assert whole.hex()[:12] in said
    assert whole.hex()[:13] not in said
    assert not WHOLE.search(said)
    assert find_receipt(store, whole.hex()[:16]) == whole


@pytest.mark.parametrize("given", ["", "1234567", "%" * 8, "g" * 12, "0" * 65, "12 34 56 78"])
def test_what_is_no_receipt_is_refused(store: Store, given: str) -> None:
    with pytest.raises(InvalidValue, match=r"not a receipt.*first 8 or more"):
        find_receipt(store, given)


def test_only_charges_have_receipts(store: Store, ledger: Ledger) -> None:
    with store.reading() as work:
        opening = next(walk(work, "patients"))
    with pytest.raises(UnknownName, match="begins with"):
        find_receipt(store, opening.hash.hex()[:12])
    with pytest.raises(UnknownName, match="has the receipt"):
        ledger.history("patients", HistoryFilter.of(receipt=opening.hash.hex()))
    with pytest.raises(UnknownName, match="begins with 00000000"):
        find_receipt(store, "0" * 8)


def test_charges_about_other_people_are_left_out(store: Store, ledger: Ledger) -> None:
    others = open_pure(ledger, name="others")
    whole = answer(ledger, ask("one more", of=others)).receipt
    assert find_receipt(store, whole.hex()[:12]) == whole
    assert find_receipt(store, whole.hex()[:12], "others") == whole
    with pytest.raises(UnknownName, match="begins with"):
        find_receipt(store, whole.hex()[:12], "patients")


def test_a_charge_of_several_populations_is_found_by_its_own_receipt(
    store: Store, both: Ledger
) -> None:
    paid = charged(both, joint("a joint question"))
    assert find_receipt(store, paid.receipt.hex()[:12]) == paid.receipt
    with store.reading() as work:
        parts = joint_entries(work, paid.receipt)
        assert parts == paid.entries
        assert joint_entries(work, b"x" * 32) == ()
    for part in parts:
        assert find_receipt(store, part.hash.hex()[:12]) == part.hash
        (line,) = both.history(part.population, HistoryFilter.of(receipt=paid.receipt.hex()))
        assert line.entry == part.seq


def test_a_certificate_of_several_populations_is_asked_for_by_chain(
    both: Ledger,
) -> None:
    paid = charged(both, joint("a joint question"))
    with pytest.raises(InvalidValue, match="is about several populations") as refused:
        both.charge_facts(paid.receipt)
    parts = {part.hash.hex(): part.population for part in paid.entries}
    told = WHOLE.findall(str(refused.value))
    assert told == [paid.receipt.hex(), *parts]
    for hash_, population in parts.items():
        facts = both.charge_facts(bytes.fromhex(hash_))
        assert facts.entry.population == population
        assert facts.charged.populations == ("patients", "staff")
    with pytest.raises(UnknownName, match="no charge with the receipt"):
        both.charge_facts(b"x" * 32)


def test_who_is_named_like_a_charge_does_not_hide_it(store: Store, both: Ledger) -> None:
    """An analyst may know a nonce, which certificates have, and sign in under it as a name."""
    paid = charged(both, joint("a joint question"))
    act = decode_act(paid.entries[0].body)
    assert isinstance(act, Charged)
    for name in (act.nonce, act.release):
        charged(both, ask(f"asked by {name[:4]}", principal=name))
        with store.reading() as work:
            assert charge_with(work, "patients", name) == paid.entries[0]
            assert joint_entries(work, paid.receipt) == paid.entries
