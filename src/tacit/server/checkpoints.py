"""A thread of the server that watches the ledger, and writes checkpoints for the next start.

It verifies what the chains have grown by, compares the tables of owners' keys with them, and
notices entries that this server has seen and that are missing. A ledger that is not sound is
written to the log, owners are notified, and `GET /ready` names ``ledger``. Charges are refused
by the ledger itself, at once.

Verifying entries takes the time of the same interpreter that answers questions. So the thread
rests nine times as long as it works, and a server that charges for hours without a pause
catches up later.
"""

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

from tacit.errors import LedgerBroken, TacitError
from tacit.ledger import wall_clock
from tacit.server.current_curator import Current, Log, discard_line

PAUSE_SECONDS = 10.0
"""Seconds between two looks at the chains."""

SHARE = 9
"""How many times as long as it works the thread rests."""

LONGEST_REST = 5.0

BROKEN = "ledger broken"
"""The notice to owners about a ledger that is not sound."""

Notify = Callable[[str], None]
"""A function that notifies the owners of all populations."""


def notify_nobody(_: str) -> None:
    """Notify nobody: the default of ``notify``."""


class LedgerWatch:
    """Verifies the chains of the ledger as they grow, and writes checkpoints."""

    def __init__(
        self, current: Current, log: Log = discard_line, notify: Notify = notify_nobody
    ) -> None:
        self._current = current
        self._log = log
        self._notify = notify
        self._ended = Event()
        self._thread: Thread | None = None
        self._failure: dict[str, Any] = {}
        """The fault that the last look found, as the log has it; empty if there was none."""
        self.is_sound = True
        """Whether the ledger was sound at the last look that could read it."""

    def start(self) -> None:
        """Start the thread."""
        self._thread = Thread(target=self._watch, name="tacit checkpoints", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread; a checkpoint that is being prepared is given up."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(LONGEST_REST)

    def look(self) -> None:
        """Verify the ledger once, and write the checkpoints that are due."""
        failure: dict[str, Any] = {}
        try:
            self.write_all()
            self._verify()
            sound = True
        except InterruptedError:
            return
        except LedgerBroken as error:
            sound, failure = False, {"ledger": "broken", "why": str(error)}
        except Exception as error:  # noqa: BLE001 - the thread must go on, whatever happens
            why = str(error) if isinstance(error, TacitError) else type(error).__name__
            sound, failure = self.is_sound, {"ledger": "not verified", "why": why}
        if self.is_sound and not sound:
            self._notify(BROKEN)
        self.is_sound = sound
        if failure not in ({}, self._failure):  # once, and not at every look
            self._log({"at": wall_clock(), **failure})
        self._failure = failure

    def write_all(self) -> int:
        """Write a checkpoint of each chain that has grown enough; return how many."""
        with self._current.borrow() as curator:
            ledger = curator.home.ledger
        return sum(ledger.write_checkpoint(name, self._rest) for name in ledger.populations())

    def _verify(self) -> None:
        """Raise `LedgerBroken` if the ledger has lost entries, or is not sound otherwise."""
        began = time.perf_counter()
        with self._current.borrow() as curator:
            curator.home.ledger.check_kept()
            if curator.home.anchors is not None:
                curator.home.anchors.check()
        # not capped: without a checkpoint of this key, each look reads the chains as a whole
        if self._ended.wait(SHARE * (time.perf_counter() - began)):
            raise InterruptedError

    def _rest(self, worked: float) -> None:
        if self._ended.wait(min(SHARE * worked, LONGEST_REST)):
            raise InterruptedError  # the server stops; nothing was written yet

    def _watch(self) -> None:
        while not self._ended.wait(PAUSE_SECONDS):
            self.look()
