"""The attack laboratory: a process without secrets, one at a time, whose results are kept."""

import asyncio
import sys

import pytest

from tacit.server.laboratory import MOST_WAITING, Laboratory
from tacit.server.refusal import Refused

STORY = "equal-grades"

PRINTS_ENVIRONMENT = (
    sys.executable,
    "-c",
    "import json, os\nprint(json.dumps({'has': sorted(os.environ), 'at': os.getcwd()}))",
)
ALLOWED = {"LC_CTYPE"}
"""What Python itself adds to an empty environment."""


def test_the_process_gets_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_SECRET", "s3cret")
    made = asyncio.run(Laboratory(PRINTS_ENVIRONMENT).run(STORY))
    assert set(made["has"]) <= ALLOWED
    assert made["at"] == "/"


def test_a_process_that_fails_is_refused_in_words() -> None:
    with pytest.raises(Refused, match="could not be run"):
        asyncio.run(Laboratory((sys.executable, "-c", "raise SystemExit(1)")).run(STORY))


def test_a_result_is_kept_for_some_minutes() -> None:
    now = 0.0
    program = (sys.executable, "-c", "import json, time; print(json.dumps(time.time_ns()))")

    async def run() -> None:
        nonlocal now
        laboratory = Laboratory(program, clock=lambda: now)
        first = await laboratory.run(STORY)
        assert await laboratory.run(STORY) == first
        assert await laboratory.run(STORY, fresh=True) != first
        again = await laboratory.run(STORY)
        now = 601.0
        assert await laboratory.run(STORY) != again

    asyncio.run(run())


def test_few_requests_wait_for_a_story() -> None:
    slow = (sys.executable, "-c", "import time; time.sleep(1); print(1)")

    async def run() -> list[object]:
        laboratory = Laboratory(slow)
        wanted = [laboratory.run(STORY, fresh=True) for _ in range(MOST_WAITING + 2)]
        return await asyncio.gather(*wanted, return_exceptions=True)

    found = asyncio.run(run())
    assert [type(each) for each in found].count(Refused) == 2
