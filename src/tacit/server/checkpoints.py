"""A thread of the server that writes checkpoints, so that the next start reads few entries.

Verifying entries takes the time of the same interpreter that answers questions. So the thread
rests nine times as long as it works, and a server that charges for hours without a pause
catches up later.
"""

from contextlib import suppress
from threading import Event, Thread

from tacit.server.current_curator import Current

PAUSE_SECONDS = 10.0
"""Seconds between two looks at the chains."""

SHARE = 9
"""How many times as long as it works the thread rests."""

LONGEST_REST = 5.0


class CheckpointWriter:
    """Verifies the chains of the ledger as they grow, and writes checkpoints."""

    def __init__(self, current: Current) -> None:
        self._current = current
        self._ended = Event()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread = Thread(target=self._watch, name="tacit checkpoints", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread; a checkpoint that is being prepared is given up."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(LONGEST_REST)

    def write_all(self) -> int:
        """Write a checkpoint of each chain that has grown enough; return how many."""
        with self._current.borrow() as curator:
            ledger = curator.home.ledger
        return sum(ledger.write_checkpoint(name, self._rest) for name in ledger.populations())

    def _rest(self, worked: float) -> None:
        if self._ended.wait(min(SHARE * worked, LONGEST_REST)):
            raise InterruptedError  # the server stops; nothing was written yet

    def _watch(self) -> None:
        while not self._ended.wait(PAUSE_SECONDS):
            with suppress(Exception):  # a broken chain stops no answer; every reader tells it
                self.write_all()
