"""Processes that lose a race for a step pause, each for another time, and end."""

import pytest

from tacit.stream import open_stream
from tacit.stream.open_stream import FIRST_PAUSE, LONGEST_PAUSE, RACES, race


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(open_stream.time, "sleep", found.append)
    return found


def test_the_first_attempt_does_not_wait(pauses: list[float]) -> None:
    next(race())
    assert pauses == []


def test_attempts_end_and_pauses_grow_to_a_limit(pauses: list[float]) -> None:
    assert len(list(race())) == RACES
    assert len(pauses) == RACES - 1
    assert pauses[0] <= FIRST_PAUSE
    assert FIRST_PAUSE < max(pauses) <= LONGEST_PAUSE


def test_two_processes_do_not_wait_alike(pauses: list[float]) -> None:
    for _ in range(2):
        list(race())
    first, second = pauses[: RACES - 1], pauses[RACES - 1 :]
    # equal pauses, the lie, would let both try at the same moments for ever
    assert sum(a == b for a, b in zip(first, second, strict=True)) < RACES // 2
