"""However many questions wait, the routes of owners and operators have threads of their own."""

from collections.abc import Awaitable, Callable
from threading import Event
from typing import Any

import pytest
from anyio import create_task_group, move_on_after, run, sleep
from conftest import Bar
from starlette.concurrency import run_in_threadpool

from tacit.server.guarded_route import PAID_AT_ONCE, run_paid

WAITING = PAID_AT_ONCE + 20
Runs = Callable[[Callable[[], Any]], Awaitable[Any]]


async def served_beside(asking: Runs) -> bool:
    """Whether another route is answered while many questions wait for their engine."""
    engine = Event()
    found = []
    async with create_task_group() as tasks:
        for _ in range(WAITING):
            tasks.start_soon(asking, lambda: engine.wait(30))
        await sleep(0.2)
        with move_on_after(2):
            found.append(await run_in_threadpool(lambda: True))
        engine.set()
    return bool(found)


@pytest.mark.parametrize(
    ("what", "asking", "wanted"),
    [
        ("questions", run_paid, True),
        ("lie, questions in every thread", run_in_threadpool, False),
    ],
)
def test_waiting_questions_stop_no_owner(
    what: str, asking: Runs, wanted: object, bar: Bar
) -> None:
    found = run(served_beside, asking)
    bar(f"{what}: a freeze is answered while {WAITING} wait", found, wanted, found is wanted)
