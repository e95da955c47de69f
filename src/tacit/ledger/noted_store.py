"""A store that counts what is written to its chains, so that it is anchored soon.

Charges are counted before they are written, because they wait while anchors are behind
(`tacit.ledger.anchor_keeper`). Every other entry is counted here, after its unit of work: acts
of owners, requests of analysts, incidents, states and checkpoints. A new kind of act is
therefore counted too, whichever function writes it.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from tacit.ledger.committer import ChargeGate
from tacit.store import Store, Work


class NotedStore:
    """A store that calls ``gate.note()`` after each unit of work that wrote an entry."""

    def __init__(self, store: Store, gate: ChargeGate) -> None:
        self._store = store
        self._gate = gate

    @contextmanager
    def writing(self) -> Iterator[Work]:
        """Begin a unit of work that writes; count it when it is durable."""
        with self._store.writing() as work:
            yield work
        if work.written:
            self._gate.note()

    def reading(self) -> AbstractContextManager[Work]:
        """Begin a unit of work that reads one snapshot of the store."""
        return self._store.reading()

    def looking(self) -> AbstractContextManager[Work]:
        """Begin a unit of work of one statement that reads."""
        return self._store.looking()

    def check_file(self) -> None:
        """Raise `LedgerBroken` if the database's file was deleted or replaced since."""
        self._store.check_file()

    def close(self) -> None:
        """Close the connections to the database."""
        self._store.close()
