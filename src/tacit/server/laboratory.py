"""The attack laboratory: stories of the gallery, each run in a process of its own.

A story computes for seconds on synthetic people. It runs at a low priority in a process that
gets neither the environment nor the files of the server, one at a time, so that no question
waits for it. Its result is kept for some minutes, so that repeats cost nothing.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from tacit.attacks import STORY_TEXTS
from tacit.server.lanes import RETRY_SECONDS
from tacit.server.refusal import Refusal, Refused, Told

PROGRAM = (sys.executable, "-I", "-m", "tacit.attacks.laboratory")
SECONDS = 180.0
KEPT_SECONDS = 600.0
MOST_WAITING = 4
"""Requests that wait for the story that runs; further ones are refused."""


class Laboratory:
    """Runs stories of the gallery, one at a time.

    ``program`` is the command that prints JSON.
    """

    def __init__(
        self,
        program: Sequence[str] = PROGRAM,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._program = tuple(program)
        self._clock = clock
        self._one = asyncio.Lock()
        self._waiting = 0
        self._kept: dict[str, tuple[float, Any]] = {}

    async def run(self, story: str, *, fresh: bool = False) -> Any:
        """Return the report of a story; with ``fresh``, of a new run of it.

        Raise `Refused` if there is no such story, or if too many requests wait.
        """
        if story not in STORY_TEXTS:
            told = Told(
                code="unknown_name",
                message="The gallery has no story with this name.",
                allowed=", ".join(STORY_TEXTS),
                next="See GET /v1/attacks for the stories.",
            )
            raise Refused(Refusal(404, told))
        if fresh:
            self._kept.pop(story, None)
        return await self._result_of(story)

    async def _result_of(self, story: str) -> Any:
        if (kept := self._find(story)) is not None:
            return kept
        if self._waiting >= MOST_WAITING:
            raise Refused(_busy())
        self._waiting += 1
        try:
            async with self._one:
                if (kept := self._find(story)) is not None:
                    return kept
                made = await self._run(story)
                self._kept[story] = (self._clock(), made)
                return made
        finally:
            self._waiting -= 1

    def _find(self, story: str) -> Any:
        at, made = self._kept.get(story, (0.0, None))
        return made if made is not None and self._clock() - at <= KEPT_SECONDS else None

    async def _run(self, story: str) -> Any:
        process = await asyncio.create_subprocess_exec(
            *self._program,
            story,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd="/",
            env={},
        )
        try:
            async with asyncio.timeout(SECONDS):
                text, _ = await process.communicate()
        except TimeoutError:
            raise Refused(_failure()) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise Refused(_failure())
        return json.loads(text)


def _busy() -> Refusal:
    told = Told(
        code="server_busy",
        message="Other attacks are running in the laboratory.",
        next="Send the same request again later.",
    )
    return Refusal(503, told, {"Retry-After": RETRY_SECONDS})


def _failure() -> Refusal:
    told = Told(
        code="laboratory_failed",
        message="The attack could not be run on this server.",
        next="Tell an operator, who may lack the extra: pip install 'tacit[attacks]'. Or run "
        "`tacit attack --gallery` on another machine: it needs no data.",
    )
    return Refusal(501, told)
