"""The salt that decides which rows of a person are kept: drawn once, sealed, never shown."""

from hashlib import sha256

from tacit.core.dataset import Dataset
from tacit.core.public_table import PublicTable
from tacit.errors import Conflict
from tacit.numeric.entropy import fresh_bytes
from tacit.store.states import NO_STATE, States

SALT_BYTES = 32


def salt_of(states: States, population: str) -> bytes:
    """The salt of ``population``, the same for all its questions and for ever."""
    name = f"salt of {population}"
    found = states.find(name)
    if found == NO_STATE:
        try:
            found = states.change(name, NO_STATE, fresh_bytes(SALT_BYTES))
        except Conflict:  # another session drew it at the same moment
            found = states.find(name)
    return found.value


def salt_of_table(states: States, table: Dataset | PublicTable) -> bytes:
    """The salt of a table's population; of public tables, one of the ledger's own.

    It is drawn anew in each ledger, so that its mark tells whose copy a copy is.
    """
    if isinstance(table, Dataset):
        return salt_of(states, table.population)
    return salt_of(states, " public tables")  # no population is called so


def fresh_mark(digits: int) -> str:
    """A text of hexadecimal digits that nobody has had before."""
    return fresh_bytes((digits + 1) // 2).hex()[:digits]


def mark_of(salt: bytes) -> str:
    """A short text that tells salts apart, and nothing else of them: they are random.

    Example:
        >>> mark_of(b"one")
        '3c6bfa4b'
    """
    return sha256(b"tacit order\n" + salt).hexdigest()[:8]
