"""Writers of one process take turns before they stand in the database's own queue."""

from threading import Lock

from tacit.errors import StoreFailed
from tacit.numeric.forks import forks

LONGEST_WAIT = 60
"""Seconds that a writer waits for those before it."""


class Turns:
    """One writer at a time; see decision 45.

    A charge waits in any case for the one before it, and PostgreSQL is slower the more stand
    before the same row.

    Example:
        >>> turns = Turns()
        >>> turn = turns.take()
        >>> turn.locked()
        True
        >>> turn.release()
    """

    def __init__(self) -> None:
        self._home = forks.count
        self._lock = Lock()

    def take(self) -> Lock:
        """This writer's turn, which it releases."""
        if self._home != forks.count:  # those before it were writers of the parent
            self._lock, self._home = Lock(), forks.count
        turn = self._lock
        if not turn.acquire(timeout=LONGEST_WAIT):
            raise StoreFailed("The store is busy; nothing was written. Ask again.")
        return turn
