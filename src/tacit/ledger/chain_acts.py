"""Kinds of entries about the chain itself: checkpoints, and what a restore has lost.

A checkpoint lets later readers begin there instead of at the first entry
(`tacit.ledger.checkpoints`). A restored copy may be older than the newest anchor: then an owner
charges what was spent in between (`tacit.ledger.restored`).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Checkpointed:
    """The chain up to the entry before was verified by an installation that has the key.

    ``state`` is the hash of the state that these entries add up to
    (`tacit.ledger.book_state`). ``key`` is the public key, and ``signature`` covers the
    population, the place in the chain, the hash of the entry before, and ``state``. ``form``
    is the number of the form in which the state is written.
    """

    state: str
    key: str
    signature: str
    at: int
    form: int = 1


@dataclass(frozen=True, slots=True)
class Restored:
    """An owner restored an older copy of the ledger, and charged the difference to an anchor.

    ``lost`` is the hash of the anchored entry that is lost, and ``place`` its number. The
    amounts count as spent here.
    """

    place: int
    lost: str
    amount: int
    delta: int
    by: str
    at: int
