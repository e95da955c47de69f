"""The queue of paid questions: bounded, fair to each principal, and without threads.

A question that is charged needs a *place*: the right to use one of the worker processes of its
engine. There are as many places as workers. Questions wait for a place on the event loop, where
waiting needs no thread (`tacit.server.places`). Two questions that are the same wait for one
answer and need one place (`Flights`).

All limits are numbers of questions: of one principal, about one population, and in all. They do
not depend on how long a question took, and a question beyond them is refused with 503, before
it is charged. A free place goes to the principals in turn, so that one of them who sends many
questions does not delay the others. If answers are delayed, a place is held until its answer
leaves, which can take half a minute: then nobody has all places.

A principal here is an account (`tacit.server.identity.Caller.account`): tokens
in one name, but for another role or for other people, are counted apart.

Everything here runs on the event loop, which is one thread, so that no lock is needed.
"""

import asyncio
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from tacit.project import RequestLimits
from tacit.server.lanes import RETRY_SECONDS
from tacit.server.places import Places
from tacit.server.refusal import Refusal, Refused, Told

HERE = 4
"""Number of places of an engine that has no worker processes, as in tests."""


class QuestionQueue:
    """The questions of a server that are not answered yet, with their limits.

    Guarantee: a question beyond a limit is refused before anything is charged for it. The
    limits count questions, and nothing else.
    """

    def __init__(
        self, limits: RequestLimits, places: Mapping[str, int], *, leave_one: bool = False
    ) -> None:
        self._limits = limits
        self._leave_one = leave_one
        self._places = {name: self._new(count) for name, count in places.items()}
        self._inside = 0
        self._of_principal: Counter[str] = Counter()
        self._of_population: Counter[str] = Counter()

    @property
    def inside(self) -> int:
        """The number of questions that are not answered yet."""
        return self._inside

    @contextmanager
    def enter(self, principal: str) -> Iterator[None]:
        """Count a question of ``principal`` for the time of the block.

        Raise `Refused` if the principal, or the server, has too many.
        """
        if self._inside >= self._limits.questions:
            raise Refused(_full("The server has too many questions", self._limits.questions))
        most = self._limits.questions_of_principal
        with _count(self._of_principal, (principal,), most, "You have too many questions"):
            self._inside += 1
            try:
                yield
            finally:
                self._inside -= 1

    @contextmanager
    def about(self, populations: Sequence[str]) -> Iterator[None]:
        """Count a question about ``populations`` for the time of the block."""
        most, said = self._limits.questions_of_population, "There are too many questions"
        with _count(self._of_population, populations, most, f"{said} about these people"):
            yield

    @property
    def engines(self) -> tuple[str, ...]:
        """The names of the engines that have places."""
        return tuple(self._places)

    def places(self, engine: str) -> Places:
        """Return the places of the engine with this name."""
        return self._places.setdefault(engine, Places(HERE))

    def follow(self, places: Mapping[str, int]) -> None:
        """Have places for engines that a server did not have when it started."""
        for name, count in places.items():
            if name not in self._places:
                self._places[name] = self._new(count)

    def _new(self, count: int) -> Places:
        return Places(count, max(1, count - 1) if self._leave_one else None)


@contextmanager
def _count(counter: Counter[str], names: Sequence[str], most: int, said: str) -> Iterator[None]:
    """Count one question for each of ``names`` during the block, or raise `Refused`."""
    if any(counter[name] >= most for name in names):
        raise Refused(_full(said, most))
    counter.update(names)
    try:
        yield
    finally:
        for name in names:
            counter[name] -= 1
            if not counter[name]:
                del counter[name]


def _full(said: str, most: int) -> Refusal:
    told = Told(
        code="queue_full",
        message=f"{said} that are not answered yet. Nothing was charged for this request.",
        allowed=f"{most} at a time",
        next="Send the same request again later, with the same Idempotency-Key.",
    )
    return Refusal(503, told, {"Retry-After": RETRY_SECONDS})


class Flights:
    """The pieces of work that this server does at the moment, by key: each is done once.

    The first request for a key leads. Others wait until the leader ends, and then look in the
    store once.
    """

    def __init__(self) -> None:
        self._ends: dict[Hashable, asyncio.Event] = {}

    def __len__(self) -> int:
        return len(self._ends)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._ends

    async def follow(self, key: Hashable) -> bool:
        """Wait for the leader of ``key``; return at once whether there was one."""
        end = self._ends.get(key)
        if end is None:
            return False
        await end.wait()
        return True

    @contextmanager
    def lead(self, key: Hashable) -> Iterator[None]:
        """Make this request the leader for ``key`` for the time of the block."""
        end = self._ends[key] = asyncio.Event()
        try:
            yield
        finally:
            del self._ends[key]
            end.set()
