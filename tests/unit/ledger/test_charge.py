"""The receipt of a charge: what keys its noise and stands on its release."""

from hashlib import sha256

from tacit.ledger.charge import Charge
from tacit.ledger.entries import GENESIS, Entry, follow

FIRST = follow(GENESIS, "patients", 1, "{}")
SECOND = follow(GENESIS, "staff", 1, "{}")


def receipt(*entries: Entry) -> bytes:
    return Charge(entries, b"release").receipt


def test_the_receipt_of_one_entry_is_its_hash() -> None:
    assert receipt(FIRST) == FIRST.hash


def test_the_receipt_of_several_is_a_hash_of_all_in_order() -> None:
    both = receipt(FIRST, SECOND)
    assert both == sha256(FIRST.hash + SECOND.hash).digest()
    assert both not in {FIRST.hash, SECOND.hash, receipt(SECOND, FIRST)}


def test_entries_at_another_place_or_of_another_text_have_another_hash() -> None:
    others = {
        follow(FIRST.hash, "patients", 1, "{}").hash,
        follow(GENESIS, "patients", 2, "{}").hash,
        follow(GENESIS, "patient", 1, "s{}").hash,
        follow(GENESIS, "patients", 1, "{} ").hash,
        SECOND.hash,
        FIRST.hash,
    }
    assert len(others) == 6
