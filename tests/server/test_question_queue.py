"""The queue of paid questions: its limits are numbers, and its places go round."""

import asyncio
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from fastapi import Response

from tacit.project.project import RequestLimits
from tacit.server.identity import Caller, WaitingCaller
from tacit.server.lanes import Lanes
from tacit.server.paid_answers import PaidAnswers
from tacit.server.places import Places
from tacit.server.question_queue import Flights, QuestionQueue
from tacit.server.refusal import Refused
from tacit.server.token_policy import Role, TokenScope
from tacit.session import Stage

LIMITS = RequestLimits(questions=4, questions_of_principal=2, questions_of_population=3)


def refusal(work: Callable[[], Any]) -> tuple[int, str, str]:
    with pytest.raises(Refused) as told:
        work()
    found = told.value.refusal
    return found.status, found.told.code, found.headers["Retry-After"]


def test_each_limit_refuses_with_503_and_when_to_come_again() -> None:
    queue = QuestionQueue(LIMITS, {})
    with queue.enter("ann"), queue.enter("ann"):
        assert refusal(lambda: queue.enter("ann").__enter__()) == (503, "queue_full", "2")
        with queue.enter("bob"), queue.enter("eve"):
            assert queue.inside == 4
            assert refusal(lambda: queue.enter("dan").__enter__())[1] == "queue_full"
        with queue.enter("dan"):
            pass
    assert queue.inside == 0
    people = [queue.about(("patients",)) for _ in range(3)]
    for each in people:
        each.__enter__()
    said = refusal(lambda: queue.about(("staff", "patients")).__enter__())
    assert said == (503, "queue_full", "2")
    with queue.about(("staff",)):  # others are not concerned
        pass
    people[0].__exit__(None, None, None)
    with queue.about(("staff", "patients")):
        pass


def test_a_question_that_fails_leaves_the_queue() -> None:
    queue = QuestionQueue(LIMITS, {})
    for _ in range(10):
        with pytest.raises(ValueError, match="no"), queue.enter("ann"), queue.about(("p",)):
            raise ValueError("no")
    assert queue.inside == 0


async def _served(places: Places, asked: list[str]) -> list[str]:
    """The order in which questions that wait at the same time are given a place."""
    served: list[str] = []

    async def ask(principal: str) -> None:
        async with places.take(principal):
            served.append(principal)
            await asyncio.sleep(0)

    async with places.take("the first"):
        tasks = [asyncio.create_task(ask(principal)) for principal in asked]
        await asyncio.sleep(0)
        assert places.waiting == len(asked)
    await asyncio.gather(*tasks)
    return served


def test_places_go_to_principals_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ["ann"] * 5 + ["bob", "eve", "bob"]
    fair = ["ann", "bob", "eve", "ann", "bob", "ann", "ann", "ann"]
    assert asyncio.run(_served(Places(1), asked)) == fair
    # the lie: whoever came first is served first, and bob waits for all of ann's
    take = Places.take
    monkeypatch.setattr(Places, "take", lambda places, _: take(places, "everybody"))
    assert asyncio.run(_served(Places(1), asked)) == asked


def test_nobody_has_all_places() -> None:
    async def run() -> list[str]:
        places, served = Places(3, of_one=2), list[str]()

        async def ask(principal: str) -> None:
            async with places.take(principal):
                served.append(principal)
                await asyncio.sleep(0.01)

        await asyncio.gather(*(ask(each) for each in ["ann"] * 4 + ["bob"]))
        assert (places.free, places.waiting) == (3, 0)
        return served

    assert asyncio.run(run()) == ["ann", "ann", "bob", "ann", "ann"]


def test_one_place_is_left_for_others_where_answers_are_delayed() -> None:
    async def taken(queue: QuestionQueue) -> int:
        places = queue.places("warehouse")
        tasks = [asyncio.create_task(places.take("ann").__aenter__()) for _ in range(3)]
        await asyncio.sleep(0)
        free = places.free
        for each in tasks:
            each.cancel()
        return free

    left = QuestionQueue(LIMITS, {"warehouse": 3}, leave_one=True)
    assert asyncio.run(taken(left)) == 1
    assert asyncio.run(taken(QuestionQueue(LIMITS, {"warehouse": 3}))) == 0
    alone = QuestionQueue(LIMITS, {"warehouse": 1}, leave_one=True)
    assert asyncio.run(taken(alone)) == 0


def test_a_place_is_given_back_whatever_happens_to_the_request() -> None:
    async def run() -> int:
        places = Places(2)
        with pytest.raises(ValueError, match="no"):
            async with places.take("ann"):
                raise ValueError("no")
        async with places.take("ann"), places.take("bob"):
            waiting = asyncio.create_task(places.take("eve").__aenter__())
            both = asyncio.create_task(places.take("dan").__aenter__())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.sleep(0)
            assert places.waiting == 1
        both.cancel()  # its place came in the same moment
        await asyncio.sleep(0)
        assert both.cancelled()
        return places.free

    assert asyncio.run(run()) == 2


def test_whoever_asks_the_same_waits_for_one_leader() -> None:
    flights, led = Flights(), 0

    async def ask() -> None:
        nonlocal led
        if await flights.follow(b"key"):
            return
        with flights.lead(b"key"):
            led += 1
            await asyncio.sleep(0.01)

    async def run() -> None:
        await asyncio.gather(*(ask() for _ in range(60)))

    asyncio.run(run())
    assert led == 1
    assert len(flights) == 0


class Asked:
    """A question whose answer is stored once it was run, and the order of runs."""

    engine, populations = "warehouse", ("patients",)

    def __init__(self, name: str, ran: list[str], first_ends: Event) -> None:
        self.key, self._name, self._ran, self._end = name.encode(), name, ran, first_ends

    def look(self, *, dead: bool = False) -> str | Stage:
        return Stage.NEW if dead or self._name not in self._ran else "stored"

    def run(self) -> str:
        if not self._ran:
            self._ran.append(self._name)
            assert self._end.wait(30)
        elif self._name not in self._ran:
            self._ran.append(self._name)
        return "answer"


def nobody_revokes(principal: str) -> WaitingCaller:
    caller = Caller(principal, Role.ANALYST, TokenScope(()))
    return WaitingCaller(caller, lambda: caller)


async def _ran(asked: list[tuple[str, str]]) -> list[str]:
    """The order in which questions of principals are run at one place."""
    lanes, ran, end = Lanes(), list[str](), Event()
    answers = PaidAnswers(lanes, RequestLimits(), {"warehouse": 1})

    async def ask(who: str, name: str) -> None:
        question: Any = Asked(name, ran, end)
        await answers.answer(nobody_revokes(who), lambda: question, lambda _: Response())

    tasks = []
    for who, name in asked:
        tasks.append(asyncio.create_task(ask(who, name)))
        await asyncio.sleep(0.1)
    end.set()
    await asyncio.gather(*tasks)
    assert answers.queue.inside == 0
    answers.close()
    lanes.close()
    return ran


def test_nobody_waits_for_all_questions_of_whoever_asks_the_same() -> None:
    asked = [("ann", each) for each in "abcdq"] + [("bob", "q")]
    # bob's turn comes after ann's next question, and ann's last question is then free
    assert asyncio.run(_ran(asked)) == ["a", "b", "q", "c", "d"]
    assert asyncio.run(_ran(asked[:-1])) == ["a", "b", "c", "d", "q"]


def test_a_question_that_another_principal_runs_is_not_run_twice() -> None:
    asked = [("ann", "q"), ("bob", "q"), ("eve", "q"), ("bob", "r")]
    assert asyncio.run(_ran(asked)) == ["q", "r"]
