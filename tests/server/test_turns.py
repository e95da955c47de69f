"""A health check waits for a few requests, and not for all that arrived before it."""

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

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
