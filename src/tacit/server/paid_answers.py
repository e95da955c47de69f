"""Answers to paid questions: each request waits on the event loop, and never in a thread.

A question takes a thread three times, for a short while or while a worker works for it: to
price it and look for a stored answer, to look again while another server computes the same
answer, and to charge and run it. A request needs a place in the queue before it is charged
(`tacit.server.question_queue`), so that at most as many threads wait for workers as there are
workers.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from fastapi import Response

from tacit.errors import AnswerPending
from tacit.ledger import SILENCE_SECONDS
from tacit.project import RequestLimits
from tacit.server.identity import WaitingCaller
from tacit.server.lanes import Lane, Lanes
from tacit.server.question_queue import HERE, Flights, QuestionQueue
from tacit.session import PaidQuestion, Stage

Result = TypeVar("Result")

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.25
"""Seconds between two looks for an answer that another server computes."""


class PaidAnswers:
    """The path of paid questions through the queue, the workers and the store.

    ``places`` are the numbers of worker processes, by the names of their engines. With
    ``leave_one``, no caller has all places of an engine. ``places_now`` returns the numbers of
    the engines that a server has at present: owners may have connected another one.
    """

    def __init__(
        self,
        lanes: Lanes,
        limits: RequestLimits,
        places: Mapping[str, int],
        *,
        leave_one: bool = False,
        places_now: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._lanes = lanes
        self.queue = QuestionQueue(limits, places, leave_one=leave_one)
        self._places_now = places_now
        self._asked = Flights()
        """Questions by principal and release key: each principal waits once for an answer."""
        self._running = Flights()
        """Questions that have a place, by release key."""
        workers = sum(places.values()) or HERE
        most = limits.questions
        self._runs = Lane("questions", threads=workers, most_waiting=most, turns=lanes.turns)

    async def answer(
        self,
        caller: WaitingCaller,
        prepare: Callable[[], PaidQuestion[Result] | Response],
        respond: Callable[[Result], Response],
    ) -> Response:
        """Return the response to a question of ``caller``.

        Args:
            caller: Who asks. Their questions are limited in number, and their token must still
                be valid after a wait, before anything is charged or an answer is read.
            prepare: Prices the question. If the answer needs no data, it returns the response.
            respond: Turns the result into a response.

        Raises:
            Refused: A limit of the queue is reached, or the token is no longer valid. Nothing
                was charged.
        """
        who = caller.account
        with self.queue.enter(who):
            paid, found = await self._lanes.prices.run(
                lambda: _prepare(caller, prepare, respond), who=who
            )
            if isinstance(found, Response) or paid is None:
                return found  # type: ignore[return-value] # a response if nothing is paid
            with self.queue.about(paid.populations):
                return await self._answer(PaidRequest(caller, paid, respond), found)

    async def _answer(self, request: "PaidRequest", stage: Stage) -> Response:
        found: Response | Stage = stage
        mine = (request.who, request.paid.key)
        while not isinstance(found, Response):
            if await self._asked.follow(mine):
                await self._lanes.turns.take()  # all who follow go on at the same moment
                found = await self._lanes.prices.run(request.look, who=request.who)
                continue
            with self._asked.lead(mine):
                found = await self._wait(request, found)
                if not isinstance(found, Response):
                    found = await self._run(request)
        return found

    async def _wait(self, request: "PaidRequest", stage: Stage) -> Response | Stage:
        """Return the answer that another server computes, or `Stage.NEW` if none comes.

        A lease that ran out without a word is looked at for a while, because the store may not
        have responded to the process that has the lease.
        """
        found: Response | Stage = stage
        pause, silent_since = FIRST_PAUSE, time.monotonic()
        while found in {Stage.PENDING, Stage.SILENT}:
            if found is Stage.PENDING:
                silent_since = time.monotonic()
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            silence = time.monotonic() - silent_since
            dead = found is Stage.SILENT and silence >= SILENCE_SECONDS
            found = await self._lanes.waits.run(partial(request.look, dead=dead))
        return found

    async def _run(self, request: "PaidRequest") -> Response | Stage:
        """Charge and run the question once there is a place for it.

        Two principals who ask the same each wait in their own turn, so that neither waits for
        all questions of the other. The one who comes second gives the place back.
        """
        key = request.paid.key
        if request.paid.engine not in self.queue.engines:
            self.queue.follow(self._places_now())
        async with self.queue.places(request.paid.engine).take(request.who):
            if key not in self._running:
                with self._running.lead(key):
                    try:
                        return await self._runs.run(request.run)
                    except AnswerPending:  # another server was first
                        return Stage.PENDING
        await self._running.follow(key)
        return Stage.PENDING

    def close(self) -> None:
        """Accept no more questions. Questions that run continue to their end."""
        self._runs.close()


@dataclass(frozen=True, slots=True)
class PaidRequest:
    """A priced question, who asks it, and how its result becomes a response."""

    caller: WaitingCaller
    paid: PaidQuestion[Any]
    respond: Callable[[Any], Response]

    @property
    def who(self) -> str:
        """The account under which the caller's questions are counted."""
        return self.caller.account

    def look(self, *, dead: bool = False) -> Response | Stage:
        """Return the answer if it is there, or how far it is (`PaidQuestion.look`)."""
        self.caller.check()
        return _look(self.paid, self.respond, dead=dead)

    def run(self) -> Response:
        """Charge and run the question, if the caller's token is still valid."""
        self.caller.check()
        return self.respond(self.paid.run())


def _prepare(
    caller: WaitingCaller,
    prepare: Callable[[], PaidQuestion[Result] | Response],
    respond: Callable[[Result], Response],
) -> tuple[PaidQuestion[Result] | None, Response | Stage]:
    """Price a question, and look for its stored answer."""
    caller.check()
    paid = prepare()
    if isinstance(paid, Response):
        return None, paid
    return paid, _look(paid, respond)


def _look(
    paid: PaidQuestion[Result], respond: Callable[[Result], Response], *, dead: bool = False
) -> Response | Stage:
    found = paid.look(dead=dead)
    return found if isinstance(found, Stage) else respond(found)
