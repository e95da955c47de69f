"""The threads of a server, in lanes: no kind of work waits for the threads of another kind.

The event loop itself answers `/health` and `/ready`, and every request that waits. Work that
reads the store or computes a price runs in a thread. If all such work shared one pool, a few
slow requests could take all of its threads, and token checks, the acts of owners and the health
check would wait behind them. So each kind of work has a `Lane`: a few threads of its own, and a
limit on the number of requests that wait for them. The threads of a lane go to the principals
in turn, and nobody has all of them: a price can take seconds to compute, and an analyst who
asks for a hundred of them must not delay others.

There are few threads in all, because Python runs one of them at a time: the event loop waits
for each busy thread in turn before it can answer a health check. For the same reason requests
go on in turns (`tacit.server.turns`) when the work that they waited for has ended.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import partial
from threading import Lock
from typing import TypeVar

from tacit.server.places import Places
from tacit.server.refusal import Refusal, Refused, Told
from tacit.server.turns import Turns

Made = TypeVar("Made")

RETRY_SECONDS = "2"
"""Value of the header Retry-After for a server that is busy."""

TOKEN_SECONDS = 5.0
"""Seconds after which a token that could not be checked is answered with 503."""


class Lane:
    """A few threads for one kind of work, and a limit on the requests that wait for them.

    One principal has at most a quarter of the places to wait.

    Example:
        >>> lane = Lane("prices", threads=1, most_waiting=10)
        >>> asyncio.run(lane.run(lambda: 6 * 7))
        42
        >>> lane.close()
    """

    def __init__(
        self,
        name: str,
        *,
        threads: int,
        most_waiting: int,
        of_one: int | None = None,
        turns: Turns | None = None,
    ) -> None:
        self.name = name
        self._resumed = turns or Turns()
        self._most = threads + most_waiting
        self._most_of_one = threads + -(-most_waiting // 4)
        self._inside = 0
        self._of: Counter[str] = Counter()
        self._lock = Lock()
        self._turns = Places(threads, of_one)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"tacit {name}")

    @property
    def inside(self) -> int:
        """The number of pieces of work that run in this lane, or wait for a thread."""
        return self._inside

    async def run(
        self,
        work: Callable[[], Made],
        seconds: float | None = None,
        *,
        who: str | None = None,
    ) -> Made:
        """Run ``work`` in a thread of this lane, and return its result.

        ``who`` is the principal for whom it is done, if the caller is known: then it waits for
        their turn. Raise `Refused` with status 503 if too many requests wait, or if there is no
        result after ``seconds``. Work that has begun then continues, and still counts for the
        limit.
        """
        made = await self._run(work, seconds, who)
        await self._resumed.take()
        return made

    async def _run(
        self, work: Callable[[], Made], seconds: float | None, who: str | None
    ) -> Made:
        with self._lock:
            if self._inside >= self._most or (who and self._of[who] >= self._most_of_one):
                raise Refused(busy())
            self._inside += 1
        if who is None:
            return await self._submit(work, seconds)
        self._of[who] += 1
        try:
            async with AsyncExitStack() as turn:
                try:
                    await turn.enter_async_context(self._turns.take(who))
                except BaseException:
                    self._leave()
                    raise
                return await self._submit(work, seconds)
        finally:
            self._of[who] -= 1
            if not self._of[who]:
                del self._of[who]

    async def _submit(self, work: Callable[[], Made], seconds: float | None) -> Made:
        try:
            future = self._threads.submit(work)
        except BaseException:
            self._leave()
            raise
        future.add_done_callback(self._leave)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            if future.done() and not future.cancelled():
                raise  # the work itself raised it
            raise Refused(busy()) from None

    def close(self) -> None:
        """Accept no more work. Work that runs continues to its end."""
        self._threads.shutdown(wait=False)

    def _leave(self, _: Future[Made] | None = None) -> None:
        with self._lock:
            self._inside -= 1


def busy() -> Refusal:
    """Return the error for a request that a server has no thread for; nothing was charged."""
    told = Told(
        code="server_busy",
        message="The server is busy, and did nothing for this request.",
        next="Send the same request again later, with the same Idempotency-Key.",
    )
    return Refusal(503, told, {"Retry-After": RETRY_SECONDS})


HELD = frozenset({"server_busy", "queue_full", "too_many_requests"})
"""Codes of refusals that are sent after a pause."""

HOLD_SECONDS = 1.0
"""The least time for which such a refusal waits."""

SENT_PER_SECOND = 250
"""How many of these refusals are sent in a second at most."""


class HeldRefusals:
    """Lets refused requests wait a moment, so that their clients cannot send them in a circle.

    A refusal needs little work, but a client that sends the same request again at once makes
    the event loop do nothing else. A refusal that waits needs a timer and no thread.

    Guarantee: at most ``per_second`` refusals end their wait in a second, one after the other
    and never many at once. No more of them wait than there are connections, so that the wait
    is at most ``seconds`` and connections / ``per_second``.

    Example:
        >>> held = HeldRefusals(seconds=0.001)
        >>> asyncio.run(held.wait())
        >>> held.waiting
        0
    """

    def __init__(
        self, seconds: float = HOLD_SECONDS, per_second: float = SENT_PER_SECOND
    ) -> None:
        self.waiting = 0
        self._seconds = seconds
        self._gap = 1 / per_second
        self._last = float("-inf")

    async def wait(self) -> None:
        """Return after the pause, and not before the turn of this refusal comes."""
        now = asyncio.get_running_loop().time()
        end = self._last = max(now + self._seconds, self._last + self._gap)
        self.waiting += 1
        try:
            await asyncio.sleep(end - now)
        finally:
            self.waiting -= 1


class Lanes:
    """All lanes of a server, apart from the threads that wait for its workers."""

    def __init__(self) -> None:
        self.turns = Turns()
        """The turns in which requests start, and go on after their work in a lane."""
        self.held = HeldRefusals()
        lane = partial(Lane, turns=self.turns)
        self.tokens = lane("tokens", threads=4, most_waiting=2000)
        """Token checks: one or a few reads of the store."""
        self.free = lane("free", threads=4, most_waiting=500, of_one=3)
        """Quotes, explanations, budgets and stored releases."""
        self.owners = lane("owners", threads=2, most_waiting=100, of_one=1)
        """Acts of owners, such as a freeze."""
        self.audit = lane("audit", threads=1, most_waiting=20)
        """Reads of whole chains, which take long: one at a time."""
        self.prices = lane("prices", threads=4, most_waiting=2000, of_one=3)
        """Prices of questions that will be charged, and searches for stored answers."""
        self.waits = lane("waits", threads=2, most_waiting=2000)
        """Looking whether an answer that another server computes is stored."""
        self.providers = lane("providers", threads=4, most_waiting=100)
        """Sign-ins that wait for an identity provider."""
        self.pages = lane("pages", threads=2, most_waiting=500)
        """Writing pages of the console, of which a table may have many rows."""

    def close(self) -> None:
        """Close all lanes."""
        for lane in vars(self).values():
            if isinstance(lane, Lane):
                lane.close()
