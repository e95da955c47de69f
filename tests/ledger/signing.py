"""Owners with keys, for tests: each key is made from its owner's name."""

from hashlib import sha256

from asking import answer, ask, population

from tacit.core.loss import Budget, Loss
from tacit.ledger.entries import Entry
from tacit.ledger.ledger import Ledger
from tacit.ledger.owner_acts import ActSigner, KeySet
from tacit.store.key_files import SigningKey

TWO = ("olga", "omar")
ONE = Loss.pure(1)


def key_of(name: str) -> ActSigner:
    """The key of an owner, or any other key by a name."""
    return ActSigner(SigningKey(sha256(name.encode()).digest()))


def as_owner(ledger: Ledger, name: str) -> Ledger:
    """The ledger as an owner uses it, with the owner's key."""
    return ledger.signed_by(key_of(name))


def propose_key(ledger: Ledger, owner: str, key: str | None = None) -> Entry:
    """Propose a first or a new key, which signs its own proposal."""
    new = key_of(key or owner)
    return ledger.signed_by(new).propose("patients", KeySet(owner, new.key), by=owner)


def open_signed(ledger: Ledger, owners: tuple[str, ...] = TWO) -> Ledger:
    """A population of two owners, both of whom have a key."""
    ledger.open_budget(population(), Budget(Loss.pure(9)), owners, by=owners[0])
    first = propose_key(ledger, owners[0])
    if len(owners) > 1:
        ledger.approve("patients", first.seq, by=owners[1])
    for owner in owners[1:]:
        key = propose_key(ledger, owner)
        as_owner(ledger, owners[0]).approve("patients", key.seq, by=owners[0])
    return ledger


def write_signed_history(ledger: Ledger) -> None:
    """Two keys, acts of all sorts, and charges between them; an act of an owner comes last."""
    open_signed(ledger)
    olga, omar = (as_owner(ledger, name) for name in TWO)
    answer(ledger, ask("first"))
    olga.set_quota("patients", "ann", Loss.pure(3), by="olga")
    omar.join("patients", "ann", "@oncology", by="omar")
    rise = olga.raise_cap("patients", ONE, "a new study", by="olga")
    answer(ledger, ask("second"))
    omar.approve("patients", rise.seq, by="omar")
    ledger.freeze("patients", by="olga")
    omar.thaw("patients", by="omar")
    answer(ledger, ask("third"))
    new = propose_key(ledger, "olga", "olga's second key")
    omar.approve("patients", new.seq, by="omar")
    again = ledger.signed_by(key_of("olga's second key"))
    again.set_default_quota("patients", Loss.pure(2), by="olga")
    answer(ledger, ask("fourth"))
    omar.set_least("patients", 0, by="omar")
