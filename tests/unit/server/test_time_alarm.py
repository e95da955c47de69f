"""The alarm about times of leaving: silent if questions take what is expected, and once if not.

Answers are simulated by the law of their delays: a discrete Gaussian number of steps of 1 ms
whose standard deviation is that of a question of epsilon 0.5.
"""

from collections.abc import Callable
from fractions import Fraction
from random import Random

import pytest

from tacit.project import DELAY, ServerTime
from tacit.query.worker_pool import TimeWatch
from tacit.server import time_alarm
from tacit.server.time_alarm import ANSWERS, SLOWER, SlowAnswers, TimeAlarm, watch_times

SIGMA, REACH, FLOOR = 41, 277, 20
MEAN_DELAY = (FLOOR + REACH + 0.5) / 1000
EXPECTED = 50
ERROR = SIGMA / ANSWERS**0.5
LIMIT = 60.0

Engine = Callable[[Random], float]
"""A function that returns the milliseconds of one run."""


def time_of_leaving(engine: float, draw: Random) -> float:
    """Seconds from the start of a question until its answer leaves."""
    steps = -(-engine // 1) + FLOOR + REACH
    return min(LIMIT, (steps + round(draw.gauss(0, SIGMA))) / 1000)


def blocks_with_alarm(engine: Engine, blocks: int, mean_delay: float = MEAN_DELAY) -> int:
    """In how many blocks of answers a new alarm warns."""
    draw, found = Random(7), list[SlowAnswers]()  # noqa: S311 - a simulation
    for _ in range(blocks):
        alarm = TimeAlarm(Fraction(EXPECTED), found.append)
        for _ in range(ANSWERS):
            alarm.note_leaving(time_of_leaving(engine(draw), draw), mean_delay)
    return len(found)


def test_answers_that_take_at_most_what_is_expected_cause_no_alarm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert blocks_with_alarm(lambda _: EXPECTED, 200) == 0
    # any mix of shapes below the expectation is fine: one direction only
    assert blocks_with_alarm(lambda draw: draw.choice((0.5, 3, 11, 48)), 200) == 0
    # the lies: half a standard error; a delay that is not taken away
    monkeypatch.setattr(time_alarm, "ERRORS", 0.5)
    assert blocks_with_alarm(lambda _: EXPECTED, 200) > 20
    monkeypatch.undo()
    assert blocks_with_alarm(lambda _: 1.0, 20, mean_delay=0.0) == 20


def test_slow_answers_cause_an_alarm() -> None:
    slow = EXPECTED + 7 * ERROR  # three standard errors beyond the line
    assert blocks_with_alarm(lambda _: slow, 100) > 95
    near = EXPECTED + 4 * ERROR  # on the line
    assert 20 < blocks_with_alarm(lambda _: near, 100) < 80


def test_a_few_late_answers_cause_no_alarm_and_many_do() -> None:
    """Late answers and failures leave at the limit: k of 100 are the root of k errors."""

    def engine(share: float) -> Engine:
        return lambda draw: 1e6 if draw.random() < share else 10

    assert blocks_with_alarm(engine(0.03), 50) == 0
    assert blocks_with_alarm(engine(0.4), 50) == 50


def test_an_alarm_warns_once_and_looks_at_whole_blocks() -> None:
    found: list[SlowAnswers] = []
    alarm = TimeAlarm(Fraction(EXPECTED), found.append)
    for number in range(ANSWERS - 1):
        alarm.note_leaving(1 + MEAN_DELAY + number / 1e4, MEAN_DELAY)
    assert not found
    alarm.note_leaving(1 + MEAN_DELAY, MEAN_DELAY)
    [first] = found
    assert (first.answers, first.expected_ms) == (ANSWERS, EXPECTED)
    assert first.mean_ms == pytest.approx(1005, abs=1)
    for _ in range(3 * ANSWERS):
        alarm.note_leaving(2 + MEAN_DELAY, MEAN_DELAY)
    assert found == [first]


def test_a_server_without_an_expectation_has_no_alarm() -> None:
    lines: list[dict[str, object]] = []
    told: list[str] = []
    times = TimeWatch()
    assert watch_times(times, None, lines.append, told.append) is times
    assert watch_times(times, ServerTime(DELAY), lines.append, told.append) is times
    rule = ServerTime(DELAY, expected_ms=Fraction(EXPECTED))
    watch = watch_times(times, rule, lines.append, told.append)
    for _ in range(ANSWERS):
        watch.note_engine("warehouse", 9.0)  # not looked at
        watch.note_leaving(MEAN_DELAY, MEAN_DELAY)
    assert not lines
    for number in range(ANSWERS):
        watch.note_leaving(1 + MEAN_DELAY + number / 1e6, MEAN_DELAY)
    [line] = lines
    assert told == [SLOWER]
    names = {"at", "times", "answers", "mean_ms", "standard_error_ms", "expected_ms"}
    assert (set(line), line["times"]) == (names, SLOWER)
