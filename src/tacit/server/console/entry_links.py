"""Links that sign in without typing: each is valid once for each person, and for a minute.

`tacit demo --serve` prints one. The address of a page is kept in the history of a browser, and
may be sent on; so it holds a code that soon opens nothing, and never a token.
"""

import time
from collections.abc import Callable, Mapping
from threading import Lock

from tacit.server.console.sign_ins import random_text
from tacit.store import hash_of

VALID_SECONDS = 60.0
MOST_LINKS = 100


class EntryLinks:
    """The links of this process that can still be used.

    Guarantee: a code gives each of its tokens once, and none after `VALID_SECONDS`.

    Example:
        >>> links = EntryLinks(clock=lambda: 0.0)
        >>> code = links.issue({"analyst ann": "tacit_x"})
        >>> links.offers(code), links.take(code, "analyst ann"), links.offers(code)
        (('analyst ann',), 'tacit_x', ())
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._left: dict[bytes, tuple[float, dict[str, str]]] = {}

    def issue(self, tokens: Mapping[str, str]) -> str:
        """Return a new code for ``tokens``, each under the name of who signs in with it."""
        code = random_text()
        with self._lock:
            self._left[hash_of(code)] = (self._clock() + VALID_SECONDS, dict(tokens))
            while len(self._left) > MOST_LINKS:
                self._left.pop(next(iter(self._left)))
        return code

    def offers(self, code: str) -> tuple[str, ...]:
        """Return who can sign in with ``code`` now."""
        with self._lock:
            return tuple(self._valid(code))

    def take(self, code: str, who: str) -> str | None:
        """Return the token of ``who`` once; None if there is none any more."""
        with self._lock:
            return self._valid(code).pop(who, None)

    def _valid(self, code: str) -> dict[str, str]:
        """Return the tokens that are left of ``code``; it is forgotten when it has ended."""
        until, left = self._left.get(hash_of(code), (0.0, {}))
        if self._clock() > until:
            self._left.pop(hash_of(code), None)
            return {}
        return left
