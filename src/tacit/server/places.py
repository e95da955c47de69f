"""Places that principals take in turn, and wait for without a thread.

A *place* is the right to use one of a few things: a worker process, or a thread of a lane. If
all of them are in use, requests wait here, on the event loop. A free place goes to the
principals in turn, so that one of them who sends many requests does not delay the others.

Everything here runs on the event loop, which is one thread, so that no lock is needed.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class Places:
    """A number of places, given to principals in turn.

    A principal has at most ``of_one`` of them at a time, if it is given, so that others find a
    free one.

    Example:
        >>> async def two_questions() -> int:
        ...     places = Places(1)
        ...     async with places.take("ann"):
        ...         pass
        ...     async with places.take("bob"):
        ...         return places.free
        >>> asyncio.run(two_questions())
        0
    """

    def __init__(self, count: int, of_one: int | None = None) -> None:
        self.count = self.free = count
        self._of_one = count if of_one is None else of_one
        self._held: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a place."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def take(self, principal: str) -> AsyncIterator[None]:
        """Hold a place for the time of the block; wait for it without a thread."""
        await self._acquire(principal)
        try:
            yield
        finally:
            self._give_back(principal)

    async def _acquire(self, principal: str) -> None:
        if self._may_have(principal):  # then nobody waits who could have it
            self._give(principal)
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(principal, deque()).append(turn)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                self._give_back(principal)  # it came at the moment when the request ended
            else:
                self._forget(principal, turn)
            raise

    def _may_have(self, principal: str) -> bool:
        return self.free > 0 and self._held[principal] < self._of_one

    def _give(self, principal: str) -> None:
        self.free -= 1
        self._held[principal] += 1

    def _forget(self, principal: str, turn: asyncio.Future[None]) -> None:
        line = self._waiting.get(principal)
        if line is not None:
            with suppress(ValueError):
                line.remove(turn)
            if not line:
                self._waiting.pop(principal, None)

    def _give_back(self, principal: str) -> None:
        """Return a place, and give it to the principal whose turn is next."""
        self.free += 1
        self._held[principal] -= 1
        if not self._held[principal]:
            del self._held[principal]
        while (turn := next(filter(self._may_have, self._waiting), None)) is not None:
            self._give_next(turn)

    def _give_next(self, principal: str) -> None:
        """Give a place to the request of ``principal`` that waits longest."""
        line = self._waiting.pop(principal)
        turn = line.popleft()
        if line:
            self._waiting[principal] = line  # at the end: others come first
        if not turn.done():
            self._give(principal)
            turn.set_result(None)
