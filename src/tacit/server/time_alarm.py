"""An alarm for operators and owners: answers take longer than the calibration expected.

A delay assumes that one person moves the time of a question by at most ``person_ms``, which
``tacit calibrate`` measured for some questions on some machine. If the server's questions take
longer than all of these did, the measurement was about something else: the tables have grown,
the machine is busier, or analysts ask questions of other shapes. The assumption may then be
false, and owners should measure again.

The alarm is free of charge, because it reads nothing but times at which answers left, which
have been paid for, and public numbers. An answer that left R after its start S waited for a
delay whose mean is known, and was rounded up to a step, which adds half a step on average. The
rest of R - S is about the time of the engine, with much noise:

    rest = (R - S) - (mean of the delay) - (half a step)

The alarm takes the mean of the rests of 100 answers, and their standard error from the same 100
numbers. It warns once, if the mean is more than 4 standard errors above ``expected_ms``. If all
questions take as long as expected, a block of 100 does this about once in 16,000 times.

Questions of different shapes take different times, and nobody knows which shapes analysts will
ask. One number is therefore no prediction of a mean. ``expected_ms`` is an upper end: the
slowest of the calibrated questions, with a margin. So the alarm looks in one direction only.

**It proves nothing.** Answers of the expected times do not show that one person moves them by
at most ``person_ms``, and slow answers do not show that one person moved them further.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import sqrt
from statistics import fmean, stdev
from threading import Lock
from typing import Any

from tacit.ledger import wall_clock
from tacit.project import ServerTime
from tacit.query import TimeWatch, TimeWatches

ANSWERS = 100
"""The number of answers whose times are compared with the expectation at a time."""

ERRORS = 4
"""The number of standard errors by which their mean may be above the expectation."""

SLOWER = "slower than expected"
"""The name of the alarm in the log and in notices."""


@dataclass(frozen=True, slots=True)
class SlowAnswers:
    """The finding of an alarm: functions of times at which answers left."""

    answers: int
    mean_ms: float
    """The mean time of the engine, as far as times of leaving show it."""
    standard_error_ms: float
    expected_ms: float


def watch_times(
    times: TimeWatch,
    rule: ServerTime | None,
    log: Callable[[dict[str, Any]], None],
    tell: Callable[[str], None],
) -> TimeWatch:
    """Return ``times``, together with an alarm if the ``rule`` says what is expected.

    The alarm writes a line of the operator's ``log``, and tells the owners by ``tell``.
    """

    def warn(found: SlowAnswers) -> None:
        log({"at": wall_clock(), "times": SLOWER, **asdict(found)})
        tell(SLOWER)

    if rule is None or rule.expected_ms is None:
        return times
    return TimeWatches(times, TimeAlarm(rule.expected_ms, warn))


class TimeAlarm(TimeWatch):
    """Compares the times at which answers left with ``expected_ms``, and warns once.

    Guarantee: what it stores and reports depends on times of leaving, and on no other time.

    Example:
        >>> found = []
        >>> alarm = TimeAlarm(Fraction(20), found.append, answers=4)
        >>> for seconds in (0.38, 0.39, 0.41, 0.42):
        ...     alarm.note_leaving(seconds, mean_delay=0.3)
        >>> round(found[0].mean_ms), found[0].expected_ms
        (100, 20.0)
    """

    def __init__(
        self,
        expected_ms: Fraction,
        warn: Callable[[SlowAnswers], None],
        answers: int = ANSWERS,
    ) -> None:
        self._expected = float(expected_ms)
        self._warn = warn
        self._answers = answers
        self._rests: list[float] = []
        self._warned = False
        self._lock = Lock()

    def note_leaving(self, seconds: float, mean_delay: float) -> None:
        """Take the time of one more answer, and warn if it completes a slow block.

        An answer that was late, and a failure, leave at the limit and count with it. A few of
        them make the standard error so large that they cause no alarm.
        """
        with self._lock:
            self._rests.append(1000 * (seconds - mean_delay))
            if len(self._rests) < self._answers:
                return
            block, self._rests = self._rests, []
            mean, error = fmean(block), stdev(block) / sqrt(len(block))
            if self._warned or mean - self._expected <= ERRORS * error:
                return
            self._warned = True
        self._warn(SlowAnswers(len(block), round(mean, 3), round(error, 3), self._expected))
