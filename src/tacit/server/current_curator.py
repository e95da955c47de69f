"""The current curator of a server, and its replacement when declarations change.

Owners can change declarations while a server runs. The ledger refuses charges under the old
declaration at once (`tacit.ledger.chain`), so no privacy guarantee depends on this module: it
only lets the server continue to answer. A thread polls the numbers of the declarations. When
one has changed, the project is loaded again, with its engines and worker processes, while the
old curator answers questions about all other populations. The new curator then replaces the old
one, which is closed when the last of its requests has ended.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import Any

from tacit.errors import TacitError
from tacit.ledger import wall_clock
from tacit.session import Curator

SECONDS = 0.5
"""Seconds between two polls of the numbers of the declarations."""

Reload = Callable[[Curator], Curator]
"""A function that returns the replacement of a curator, or the same one if nothing changed."""


Arrange = Callable[[Curator], Curator]
"""A function that configures a curator for this server, for example where it sends alarms."""

Log = Callable[[dict[str, Any]], None]
"""A function that writes one line of the operator's log."""


def as_it_is(curator: Curator) -> Curator:
    """Return the curator unchanged: the default of ``arranged``."""
    return curator


def discard_line(_: dict[str, Any]) -> None:
    """Discard a line of the log: the default of ``log``."""


def stays(curator: Curator) -> Curator:
    """Return the same curator: the default of ``reload``.

    The server then never reloads, and the ledger refuses questions under old declarations.
    """
    return curator


class Current:
    """The current curator, which each request borrows while it runs.

    Each curator is configured by ``arranged`` before it answers. If a curator cannot answer
    about some populations before its operator acts, the ``log`` says which, and why.
    """

    def __init__(
        self,
        curator: Curator,
        reload: Reload = stays,
        arranged: Arrange = as_it_is,
        log: Log = discard_line,
    ) -> None:
        self._arranged = arranged
        self._log = log
        self._curator = arranged(curator)
        self._reload = reload
        self._lock = Lock()
        # requests by the id of the engines, which several curators may share
        self._in_use: Counter[int] = Counter()
        self._retired: dict[int, Curator] = {}
        self._look = Event()
        self._ended = False
        self._thread: Thread | None = None

    @property
    def curator(self) -> Curator:
        """The current curator, for short uses only: it may be closed at any time."""
        return self._curator

    @contextmanager
    def borrow(self) -> Iterator[Curator]:
        """Yield the current curator, which stays open until the block ends."""
        with self._lock:
            curator = self._curator
            self._in_use[id(curator.engines)] += 1
        try:
            yield curator
        finally:
            with self._lock:
                self._in_use[id(curator.engines)] -= 1
            self._close_idle()

    def places(self) -> dict[str, int]:
        """Return the number of worker processes of each engine at present."""
        return {name: len(pool) for name, pool in self._curator.pools.items()}

    def start(self) -> None:
        """Start the thread that polls the declarations."""
        if self._reload is not stays:
            self._thread = Thread(target=self._watch, name="declarations", daemon=True)
            self._thread.start()

    def look(self) -> None:
        """Check the declarations now, because a charge was refused under an old one."""
        self._look.set()

    def close(self) -> None:
        """Stop the thread, and close all curators."""
        self._ended = True
        self._look.set()
        if self._thread is not None:
            self._thread.join()
        for retired in self._retired.values():
            retired.retire()
        self._curator.close()

    def refresh(self) -> None:
        """Load the project again if its declarations have changed."""
        old = self._curator
        new = self._reload(old)
        if new is old:
            return
        new = self._arranged(new)
        for name, why in new.waits.items():
            if old.waits.get(name) != why:
                line = {"at": wall_clock(), "waits": name, "why": why}
                self._log(line)
        with self._lock:
            self._curator = new
            if new.engines is not old.engines:
                self._retired[id(old.engines)] = old
        self._close_idle()

    def _watch(self) -> None:
        while not self._ended:
            self._look.wait(SECONDS)
            self._look.clear()
            if not self._ended:
                try:
                    self.refresh()
                except TacitError:
                    continue  # the store does not respond, so nothing can be charged either

    def _close_idle(self) -> None:
        """Close the replaced curators that no request uses any longer."""
        with self._lock:
            idle = [key for key in self._retired if not self._in_use[key]]
            gone = [self._retired.pop(key) for key in idle]
        for curator in gone:  # in threads, because stopping worker processes takes a while
            Thread(target=curator.retire, daemon=True).start()
