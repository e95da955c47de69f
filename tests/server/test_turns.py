"""A health check waits for a few requests, and not for all that arrived before it."""

import asyncio
import itertools
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import Any

import pytest
from conftest import Bar
from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.server.lanes import HeldRefusals, Lane
from tacit.server.turns import AHEAD, AT_ONCE, InTurn, Turns

MANY = 60


def handled(wrap: Callable[[ASGIApp], ASGIApp], paths: list[str]) -> list[str]:
    """Send requests for ``paths`` at the same moment; return the order in which they start."""
    seen: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
        seen.append(scope["path"])

    async def run() -> None:
        wrapped: Any = wrap(app)
        await asyncio.gather(
            *(wrapped({"type": "http", "path": path}, None, None) for path in paths)
        )

    asyncio.run(run())
    return seen


def in_turn(app: ASGIApp) -> ASGIApp:
    return InTurn(app, Turns())


def as_it_is(app: ASGIApp) -> ASGIApp:
    return app


@pytest.mark.parametrize("ahead", sorted(AHEAD))
def test_a_health_check_starts_before_those_that_wait(ahead: str) -> None:
    requests = [f"/v1/{number}" for number in range(MANY)]
    seen = handled(in_turn, [*requests, ahead])
    assert seen.index(ahead) == AT_ONCE
    assert [path for path in seen if path != ahead] == requests


def test_without_turns_it_starts_last() -> None:
    assert handled(as_it_is, [*map(str, range(MANY)), "/health"])[-1] == "/health"


def test_a_few_requests_start_in_each_turn_of_the_loop() -> None:
    async def run() -> list[int]:
        turns, started = Turns(3), 0

        async def request() -> None:
            nonlocal started
            await turns.take()
            started += 1

        tasks = [asyncio.create_task(request()) for _ in range(10)]
        counts = []
        while turns.waiting or not counts or counts[-1] < len(tasks):
            await asyncio.sleep(0)
            counts.append(started)
        await asyncio.gather(*tasks)
        return counts

    counts = asyncio.run(run())
    assert counts[0] == 3
    assert max(after - before for before, after in itertools.pairwise(counts)) == 3
    assert counts[-1] == 10


def test_a_cancelled_request_takes_nobodys_turn() -> None:
    async def run() -> int:
        turns, started = Turns(1), 0

        async def request() -> None:
            nonlocal started
            await turns.take()
            started += 1

        tasks = [asyncio.create_task(request()) for _ in range(20)]
        await asyncio.sleep(0)
        for task in tasks[1:19]:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)
        await tasks[-1]
        await asyncio.wait_for(request(), 5)
        return started

    assert asyncio.run(run()) == 3


def test_what_is_no_request_does_not_wait() -> None:
    async def run() -> bool:
        turns = Turns(1)
        await turns.take()
        told: list[str] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
            told.append(scope["type"])

        wrapped: Any = InTurn(app, turns)
        await wrapped({"type": "lifespan"}, None, None)
        return told == ["lifespan"]

    assert asyncio.run(run())


def resumed_at_once(turns: Turns) -> int:
    """The most requests that go on in one turn of the loop when their work ends together."""

    async def run() -> int:
        end, lane = Event(), Lane("work", threads=MANY, most_waiting=0, turns=turns)
        resumed = 0

        async def request() -> None:
            nonlocal resumed
            await lane.run(lambda: end.wait(30))
            resumed += 1

        tasks = [asyncio.create_task(request()) for _ in range(MANY)]
        await asyncio.sleep(0.1)
        end.set()
        time.sleep(0.1)  # noqa: ASYNC251 # all threads end before the loop goes on
        counts = [0]
        while counts[-1] < MANY:
            await asyncio.sleep(0)
            counts.append(resumed)
        await asyncio.gather(*tasks)
        lane.close()
        return max(after - before for before, after in itertools.pairwise(counts))

    return asyncio.run(run())


def test_a_few_requests_go_on_in_each_turn_after_their_work(bar: Bar) -> None:
    most = resumed_at_once(Turns(2))
    bar("requests that go on in one turn", most, "at most 2", most <= 2)
    lie = resumed_at_once(Turns(MANY))
    bar("lie, all go on when they can", lie, f"{MANY}", lie > 2)


def ends_of(held: HeldRefusals, count: int) -> list[float]:
    """The seconds after which so many refusals that came together end their waits."""

    async def one(began: float) -> float:
        await held.wait()
        return asyncio.get_running_loop().time() - began

    async def run() -> list[float]:
        began = asyncio.get_running_loop().time()
        ends = await asyncio.gather(*(one(began) for _ in range(count)))
        assert held.waiting == 0
        return sorted(ends)

    return asyncio.run(run())


def test_refusals_for_load_wait_a_moment_and_are_sent_one_after_the_other(bar: Bar) -> None:
    """Sixty refusals in a moment are a burst neither when they come nor when they leave."""
    ends = ends_of(HeldRefusals(seconds=0.2, per_second=100), 60)
    assert ends[0] >= 0.2
    last = ends[-1]
    bar("seconds until the last of 60 refusals", last, "at least 0.79", last >= 0.2 + 59 / 100)
    lie = ends_of(HeldRefusals(seconds=0.2, per_second=10**9), 60)[-1]
    bar("lie, all after the same pause", lie, "below 0.79", lie < 0.2 + 59 / 100)


def test_a_refusal_that_comes_later_does_not_wait_for_the_pauses_before() -> None:
    held = HeldRefusals(seconds=0.01, per_second=1000)
    ends_of(held, 5)
    time.sleep(0.05)
    assert ends_of(held, 1)[0] < 0.5
