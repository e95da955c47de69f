"""A list of given answers that is written in the background.

The list is for people: it shows each caller their own answers, and an owner those of everybody.
No charge and no guarantee depends on it. So no answer waits for it: a thread takes all answers
that wait, and lists them in one transaction. A server that is killed may leave its last answers
unlisted. They are charged and stored all the same, and asking again, which is free, lists them.
"""

import time
from collections import deque
from contextlib import suppress
from threading import Condition, Thread

from tacit.store import GivenAnswer, GivenAnswers

MOST_WAITING = 10_000
"""Largest number of answers that wait to be listed; more are left out of the list."""

MOST_TOGETHER = 200
"""Largest number of answers that are listed in one transaction."""

SETTLE_SECONDS = 5.0
"""Seconds for which a reader waits until the answers before it are listed."""


class AnswerList:
    """Lists answers in a thread, so that no answer waits for its place in a list."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most = most
        self._waiting: deque[tuple[GivenAnswers, GivenAnswer]] = deque()
        self._came, self._went = 0, 0
        self._ended = False
        self._changed = Condition()
        self._thread: Thread | None = None

    def add(self, place: GivenAnswers, answer: GivenAnswer) -> None:
        """List an answer soon; this waits for nothing."""
        with self._changed:
            if self._ended or len(self._waiting) >= self._most:
                return
            self._waiting.append((place, answer))
            self._came += 1
            if self._thread is None:
                self._thread = Thread(target=self._run, name="tacit answer list", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def settle(self, seconds: float = SETTLE_SECONDS) -> bool:
        """Wait until every answer that came before is listed; return whether this is so."""
        ends = time.monotonic() + seconds
        with self._changed:
            awaited = self._came
            while self._went < awaited:
                left = ends - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
        return True

    def close(self) -> None:
        """List the answers that wait, for a few seconds at most, and stop."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(SETTLE_SECONDS)

    def _run(self) -> None:
        while taken := self._take():
            for place, answers in _by_ledger(taken).items():
                # the answers were given, and asking again lists those that are not listed now
                with suppress(Exception):
                    place.add(*answers)
            with self._changed:
                self._went += len(taken)
                self._changed.notify_all()

    def _take(self) -> list[tuple[GivenAnswers, GivenAnswer]]:
        """Return the answers that wait, when there are any; none if the list is closed."""
        with self._changed:
            while not self._waiting and not self._ended:
                self._changed.wait()
            count = min(len(self._waiting), MOST_TOGETHER)
            return [self._waiting.popleft() for _ in range(count)]


def _by_ledger(
    taken: list[tuple[GivenAnswers, GivenAnswer]],
) -> dict[GivenAnswers, list[GivenAnswer]]:
    """Return the answers of each ledger together: one may replace another."""
    found: dict[GivenAnswers, list[GivenAnswer]] = {}
    for place, answer in taken:
        found.setdefault(place, []).append(answer)
    return found
