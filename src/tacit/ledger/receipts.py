"""Receipts: the charge that a receipt, or the beginning of one, is about.

The receipt of a charge is the hash of its entry. A charge about several populations has an
entry in the chain of each, and its receipt is the hash of their hashes.
"""

import re

from sqlalchemy import bindparam, select

from tacit.errors import InvalidValue, UnknownName
from tacit.ledger.backwards import backwards, kind_in
from tacit.ledger.chain import walk
from tacit.ledger.charge import receipt_of
from tacit.ledger.entries import Charged, Entry, decode_act
from tacit.render import safe
from tacit.store import Store, Work
from tacit.store.tables import answers, budgets, entries

SHORTEST = 8
"""The least number of digits by which a receipt can be given."""

DIGITS = 64
"""Number of hexadecimal digits of a receipt."""

CHARGED = "charged"
"""The stored name of charges."""

_BEGINNING = re.compile(f"[0-9a-f]{{{SHORTEST},{DIGITS}}}")
_ENTRIES = select(entries.c.population, entries.c.body, entries.c.hash).where(
    entries.c.hash >= bindparam("least"), entries.c.hash <= bindparam("most")
)
_ANSWERS = select(answers.c.receipt).where(
    answers.c.receipt >= bindparam("least"), answers.c.receipt <= bindparam("most")
)
_RELEASES = select(answers.c.release).where(answers.c.receipt == bindparam("receipt"))
_POPULATIONS = select(budgets.c.population)


def find_receipt(store: Store, given: str, population: str | None = None) -> bytes:
    """Return the receipt that is ``given``, or the only one that begins with these digits.

    With a ``population``, charges about other populations are left out.

    Raises:
        InvalidValue: It is not a receipt, or several receipts begin with these digits.
        UnknownName: No receipt of the ledger begins with these digits.
    """
    digits = given.strip().lower()
    if not _BEGINNING.fullmatch(digits):
        raise InvalidValue(
            f"{safe(given)!r} is not a receipt. Give its {DIGITS} hexadecimal digits, as an "
            f"answer prints them, or its first {SHORTEST} or more."
        )
    if len(digits) == DIGITS:
        return bytes.fromhex(digits)
    limits = {
        "least": bytes.fromhex(digits.ljust(DIGITS, "0")),
        "most": bytes.fromhex(digits.ljust(DIGITS, "f")),
    }
    with store.reading() as work:
        rows = work.all(_ENTRIES, limits)
        own = {bytes(hash_) for name, body, hash_ in rows if kind_in(body) == CHARGED}
        other = {bytes(hash_) for name, _, hash_ in rows if population not in {None, name}}
        found = own | {bytes(receipt) for (receipt,) in work.all(_ANSWERS, limits)}
    found -= other
    if len(found) > 1:
        raise InvalidValue(
            f"Several receipts of this ledger begin with {digits}. Give more of the digits."
        )
    if not found:
        raise UnknownName(
            f"No charge of this ledger has a receipt that begins with {digits}. Check the "
            "digits, and that this is the ledger that was charged."
        )
    return found.pop()


def charge_with(work: Work, population: str, digits: str) -> Entry | None:
    """Return the newest charge in a chain that has these digits: its nonce, or its release.

    Return None if no charge has them. Other texts of a charge, such as the name of who asked,
    may be the digits of another one, so that each charge with the text is decoded.
    """
    quoted = f'"{digits}"'
    for seq, body in backwards(work, population, answers=False):
        if quoted not in body or kind_in(body) != CHARGED:
            continue
        act = decode_act(body)
        if isinstance(act, Charged) and digits in {act.nonce, act.release}:
            return next(walk(work, population, seq - 1))
    return None


def joint_entries(work: Work, receipt: bytes) -> tuple[Entry, ...]:
    """Return the entries of the charge about several populations that has this receipt.

    They are in the order of the charge's populations. There are none if the newest charge for
    an answer has another receipt.
    """
    for (release,) in work.all(_RELEASES, {"receipt": receipt}):
        for (population,) in work.all(_POPULATIONS, {}):
            one = charge_with(work, population, bytes(release).hex())
            act = None if one is None else decode_act(one.body)
            if not isinstance(act, Charged):
                continue
            parts = [charge_with(work, name, act.nonce) for name in act.populations]
            found = tuple(part for part in parts if part is not None)
            if len(found) == len(parts) > 1 and receipt_of(found) == receipt:
                return found
    return ()
