"""Requests are read and start a few at a time, so that a health check never waits behind many.

The event loop runs everything that is ready before it looks at its connections again. If sixty
requests arrive at the same moment, it would read, route and check all of them first, and a
health check that arrives a moment later would wait for that, which takes a tenth of a second
and more. Here a few requests are read (`tacit.server.connections`) and a few start in each turn
of the loop, in the order in which they arrived, and health checks are read and start at once.
So a health check waits for a few requests, and not for all that wait.

Everything here runs on the event loop, which is one thread, so that no lock is needed.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

AT_ONCE = 2
"""Requests that start in one turn of the event loop; each needs about a millisecond."""

AHEAD = frozenset({"/health"})
"""Paths whose requests start at once. They must need next to nothing, because they may be sent
by anybody in any number."""


class Turns:
    """A queue from which ``at_once`` pieces of work are done in each turn of the event loop.

    Example:
        >>> async def order() -> list[int]:
        ...     turns, seen = Turns(1), list[int]()
        ...
        ...     async def one(number: int) -> None:
        ...         await turns.take()
        ...         seen.append(number)
        ...
        ...     await asyncio.gather(*map(one, range(3)))
        ...     return seen
        >>> asyncio.run(order())
        [0, 1, 2]
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = self._left = at_once
        self._waiting: deque[Callable[[], bool]] = deque()
        self._is_planned = False

    @property
    def waiting(self) -> int:
        """The number of pieces of work that wait for their turn."""
        return len(self._waiting)

    def take_now(self) -> bool:
        """Return whether there is room in this turn, and nobody waits; then take it."""
        self._plan()
        if self._left and not self._waiting:
            self._left -= 1
            return True
        return False

    def call_later(self, work: Callable[[], bool]) -> None:
        """Call ``work`` in a later turn; if it returns False, it did nothing, for no room."""
        self._waiting.append(work)
        self._plan()

    async def take(self) -> None:
        """Return in this turn of the event loop, or in a later one if others are before."""
        if self.take_now():
            return
        turn = asyncio.get_running_loop().create_future()

        def begin() -> bool:
            if turn.done():  # a task that was cancelled needs no turn
                return False
            turn.set_result(None)
            return True

        self.call_later(begin)
        await turn

    def _plan(self) -> None:
        """Let the event loop begin a turn, unless it is about to."""
        if not self._is_planned:
            self._is_planned = True
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        """Begin a turn: do the first pieces of work, and plan the next turn if others wait."""
        self._left = self._at_once
        try:
            while self._left and self._waiting:
                self._left -= self._waiting.popleft()()
        finally:  # an error of one piece of work must not stop the others
            self._is_planned = bool(self._waiting) or self._left < self._at_once
            if self._is_planned:
                asyncio.get_running_loop().call_soon(self._next)


class InTurn:
    """ASGI middleware that starts a few requests in each turn of the event loop."""

    def __init__(self, app: ASGIApp, turns: Turns) -> None:
        self._app = app
        self._turns = turns

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait for a turn, and handle the request."""
        if scope["type"] == "http" and scope["path"] not in AHEAD:
            await self._turns.take()
        await self._app(scope, receive, send)
