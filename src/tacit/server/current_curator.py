"""The curator that a server answers with now, and how a new one takes its place.

Owners declare something else while a server runs. The ledger refuses charges under the old
declaration at once (`tacit.ledger.chain`), so nothing that is done here carries the promise: it
lets the server go on answering. A thread looks at the numbers of the declarations. Where one
has moved, the project is loaded anew, with its engines and child processes, while the old
curator answers about all other populations. The new one then takes over, and the old one is let
go when the last of its requests has ended.
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
"""How often the numbers of the declarations are looked at."""

Reload = Callable[[Curator], Curator]
"""Gives the curator that takes over, or the same where there is nothing to change."""


Arrange = Callable[[Curator], Curator]
"""Gives a curator what every one of this server has, such as whom it tells of troubles."""

Log = Callable[[dict[str, Any]], None]
"""Writes one line of the operator's log."""


def as_it_is(curator: Curator) -> Curator:
    """For a server that arranges nothing."""
    return curator


def unlogged(_: dict[str, Any]) -> None:
    """For a server without a log."""


def stays(curator: Curator) -> Curator:
    """For a server that loads nothing anew: the ledger then refuses what has changed."""
    return curator


class Current:
    """The curator of today, taken for a request and given back at its end.

    Each curator is ``arranged`` before it answers. Where one waits for its operator before it
    answers about some populations, the ``log`` says which, and why.
    """

    def __init__(
        self,
        curator: Curator,
        reload: Reload = stays,
        arranged: Arrange = as_it_is,
        log: Log = unlogged,
    ) -> None:
        self._arranged = arranged
        self._log = log
        self._curator = arranged(curator)
        self._reload = reload
        self._lock = Lock()
        self._in_use: Counter[int] = Counter()  # by engines, which several curators may share
        self._retired: dict[int, Curator] = {}
        self._look = Event()
        self._ended = False
        self._thread: Thread | None = None

    @property
    def curator(self) -> Curator:
        """The curator of today, for what does not outlast a look."""
        return self._curator

    @contextmanager
    def taken(self) -> Iterator[Curator]:
        """The curator of today, which stays open until the block ends."""
        with self._lock:
            curator = self._curator
            self._in_use[id(curator.engines)] += 1
        try:
            yield curator
        finally:
            with self._lock:
                self._in_use[id(curator.engines)] -= 1
            self._let_go()

    def start(self) -> None:
        """Begin to look at the declarations."""
        if self._reload is not stays:
            self._thread = Thread(target=self._watch, name="declarations", daemon=True)
            self._thread.start()

    def look(self) -> None:
        """Look at the declarations now, since a charge was refused under one of them."""
        self._look.set()

    def close(self) -> None:
        """Stop looking, and let go of everything."""
        self._ended = True
        self._look.set()
        if self._thread is not None:
            self._thread.join()
        for retired in self._retired.values():
            retired.retire()
        self._curator.close()

    def refresh(self) -> None:
        """Load the project anew where its declarations have changed."""
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
        self._let_go()

    def _watch(self) -> None:
        while not self._ended:
            self._look.wait(SECONDS)
            self._look.clear()
            if not self._ended:
                try:
                    self.refresh()
                except TacitError:
                    continue  # the store does not answer now, and nothing is charged either

    def _let_go(self) -> None:
        """Close the curators that nobody uses any more."""
        with self._lock:
            idle = [key for key in self._retired if not self._in_use[key]]
            gone = [self._retired.pop(key) for key in idle]
        for curator in gone:  # ending its child processes takes a while
            Thread(target=curator.retire, daemon=True).start()
