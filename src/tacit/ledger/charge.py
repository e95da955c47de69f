"""One line of the ledger, and what was stored for it."""

from dataclasses import dataclass
from hashlib import sha256

from tacit.ledger.entry import Entry


@dataclass(frozen=True, slots=True)
class Charge:
    """A question that is paid for, and may now be run, once.

    It has an entry in the chain of each of its populations. The receipt is the hash that keys
    the noise and stands on the release.
    """

    entries: tuple[Entry, ...]
    release_key: bytes
    missed: int = 0
    """How many answers about its populations missed their deadlines before."""

    @property
    def receipt(self) -> bytes:
        """The hash of its entry; of several, the hash of their hashes in order."""
        return receipt_of(self.entries)


@dataclass(frozen=True, slots=True)
class Answer:
    """The bytes of a stored release, and the receipt of the charge that paid for them."""

    body: bytes
    receipt: bytes


def receipt_of(entries: tuple[Entry, ...]) -> bytes:
    """The receipt of a charge by its entries."""
    if len(entries) == 1:
        return entries[0].hash
    return sha256(b"".join(entry.hash for entry in entries)).digest()
