"""Readiness: whether the store, the workers and the anchor of a server are in order.

Two threads check them about every second, so that `GET /ready` can be answered on the event
loop with the last result. They also replace worker processes that died while nobody used them,
so that the next question finds a worker that responds.

Workers that are at work are not looked at: whether one of them ends, and when, may depend on a
row of the data. A worker is looked at again when it is given back, as are other questions.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread

from tacit.errors import LedgerBroken, TacitError
from tacit.server.checkpoints import LedgerWatch, Notify, notify_nobody
from tacit.server.current_curator import Current, Log, discard_line
from tacit.server.refusal import SOON, Refusal, Refused, Told
from tacit.session import Curator

PAUSE_SECONDS = 1.0
"""Seconds between two checks."""

ANCHOR_CHECKS = 10
"""The anchor is compared with the store in every tenth check."""

LONGEST_CHECK = 5.0
"""Seconds after which a check without a result means that the store does not respond."""

STORE, WORKERS, ANCHOR, LEDGER = "store", "workers", "anchor", "ledger"


class Readiness:
    """The last known state of the parts that a server needs to answer questions.

    ``store`` is whether the store responds, ``workers`` whether every idle worker process
    responds or could be replaced, and ``anchor`` whether the store is at least as new as the
    anchor that this server's folder has of it. ``ledger`` is whether the chains, and the keys
    of owners, were sound at the last look (`tacit.server.checkpoints`).
    """

    def __init__(
        self,
        current: Current,
        clock: Callable[[], float] = time.monotonic,
        *,
        log: Log = discard_line,
        notify: Notify = notify_nobody,
    ) -> None:
        self._current = current
        self._clock = clock
        self._parts = {STORE: True, WORKERS: True, ANCHOR: True}  # as when it was opened
        self._checked = clock()
        self._ended = Event()
        self._rounds = 0
        self._threads: list[Thread] = []
        self._watch_of_ledger = LedgerWatch(current, log, notify)

    def parts(self) -> dict[str, bool]:
        """Return the state of each part; this waits for nothing."""
        parts = self._parts | {LEDGER: self._watch_of_ledger.is_sound}
        if self._clock() - self._checked > LONGEST_CHECK:
            return parts | {STORE: False}
        return parts

    def check(self) -> dict[str, bool]:
        """Return the parts if all are in order, or raise `Refused` with those that are not."""
        parts = self.parts()
        missing = ", ".join(name for name, fine in parts.items() if not fine)
        if missing:
            told = Told(
                code="not_ready",
                message="The server cannot answer questions at the moment.",
                given=f"not in order: {missing}",
            )
            raise Refused(Refusal(503, told, SOON))
        return parts

    def start(self) -> None:
        """Start threads that check the store and the workers, and watch the ledger."""
        for check in (self.check_store, self.check_workers):
            thread = Thread(
                target=self._watch, args=(check,), name="tacit readiness", daemon=True
            )
            thread.start()
            self._threads.append(thread)
        self._watch_of_ledger.start()

    def close(self) -> None:
        """Stop the threads; nobody waits for a store that hangs."""
        self._ended.set()
        self._watch_of_ledger.close()
        for thread in self._threads:
            thread.join(PAUSE_SECONDS)

    def check_store(self) -> None:
        """Check once whether the store responds, and now and then whether it is anchored."""
        with self._current.borrow() as curator:
            self._parts[STORE] = _responds(curator)
            if self._parts[STORE] and self._rounds % ANCHOR_CHECKS == 0:
                self._parts[ANCHOR] = _is_anchored(curator)
        self._rounds += 1
        self._checked = self._clock()

    def check_workers(self) -> None:
        """Replace idle workers that died; starting one may take seconds."""
        with self._current.borrow() as curator:
            self._parts[WORKERS] = _check_workers(curator)

    def _watch(self, check: Callable[[], None]) -> None:
        while not self._ended.wait(PAUSE_SECONDS):
            with suppress(Exception):  # the next check may succeed; a store is then not ready
                check()


def _responds(curator: Curator) -> bool:
    """Return whether the store responds."""
    try:
        curator.home.ledger.numbers()
    except TacitError:
        return False
    return True


def _check_workers(curator: Curator) -> bool:
    """Replace idle workers that died; return whether all idle workers are in order."""
    fine = True
    for pool in curator.pools.values():
        fine &= pool.replace_dead()
    return fine


def _is_anchored(curator: Curator) -> bool:
    """Return whether the store has all that was anchored, and anchors can be written."""
    mark, store, keeper = curator.home.mark, curator.home.store, curator.home.anchors
    if keeper is not None and not keeper.is_current:
        return False
    try:
        if mark is not None:
            mark.check(store)
    except (LedgerBroken, OSError, ValueError):
        return False
    except TacitError:
        return True  # the store did not respond, which is another part
    return True
