"""A place of the queue, which a question holds from its start until its answer leaves.

A place is a worker process and the right to use it. If a place were given back as soon as its
engine is done, the next question would start by the engine's time, and a burst of questions
would add up the times of all questions before it: a delay of the answers alone does not hide
that. So **a place is given back when its answer leaves**. Every start is then a function of
arrivals and of times at which answers left, which have been paid for.

`HeldPlace` is the arithmetic of one such place, on integers of nanoseconds. It has no clock and
no thread: the caller says when something happened, and asks when the answer leaves. There are
two rules:

* With a delay, an answer leaves at the start plus ceil(time of the result) plus a random number
  of steps, or is late at the limit if that is after the limit. Both depend on nothing but a
  time that was paid for. A failure leaves at the limit.
* With a deadline, everything leaves at the limit.
"""

from dataclasses import dataclass

from tacit.numeric.entropy import Entropy
from tacit.project import DELAY, ServerTime
from tacit.query.quote import FitQuote, Quote

SECOND = 10**9
"""Nanoseconds in a second."""


@dataclass(slots=True)
class HeldPlace:
    """One place, from the public ``start`` of a question until its answer leaves.

    All times are nanoseconds of one clock that never goes back.

    Guarantee: with a delay, `leaves` and `late` depend on the result's time only through its
    number of steps plus the random number of steps. If the first moves by one step and the
    second moves back by one, neither changes.

    Example:
        >>> place = HeldPlace(start=0, limit=1000, step=10, delay=5, floor=30)
        >>> place.note_result(41)
        >>> place.note_answer(52)
        >>> place.leaves, place.late
        (100, False)
    """

    start: int
    limit: int
    """The last moment at which anything leaves."""
    step: int = 0
    """The step of the grid; 0 for a deadline."""
    delay: int = 0
    """The random delay in steps, with its constant part."""
    floor: int = 0
    """The constant part of the delay, in which noise is drawn and the answer is encoded."""
    _result: int | None = None
    _answer: int | None = None
    _broken: bool = False

    @property
    def is_paid(self) -> bool:
        """Whether the time of leaving was paid for, which makes lateness harmless."""
        return self.step > 0

    def note_result(self, now: int) -> None:
        """Note that the engine's result has arrived; only the first call counts."""
        if self._result is None:
            self._result = now

    def note_answer(self, now: int) -> None:
        """Note that the encoded answer has arrived."""
        self._answer = now

    def note_failure(self) -> None:
        """Note that an attempt failed, so that whatever comes of it leaves at the limit."""
        self._broken = True

    @property
    def leaves(self) -> int:
        """The moment at which the answer or the failure leaves, and the place is given back."""
        return min(self.limit, self._planned)

    @property
    def late(self) -> bool:
        """Whether the answer would leave after the limit. It is then never shown to anybody."""
        return self._answer is None or self._planned > self.limit

    @property
    def _planned(self) -> int:
        """The moment at which the answer would leave without a limit."""
        if not self.is_paid or self._broken or self._answer is None:
            return self.limit
        # an answer that takes longer than the floor after the result must still be there
        done = max(
            self._answer - self.floor, self._answer if self._result is None else self._result
        )
        steps = -(-(done - self.start) // self.step)
        return self.start + self.step * (steps + self.delay)


def hold_place(
    quote: Quote | FitQuote,
    time: ServerTime | None,
    deadline: float | None,
    now: int,
    delay: int,
) -> HeldPlace | None:
    """Return the place of a charged question that starts ``now``; None if its time is open.

    ``delay`` is the drawn delay in steps. A fit reads the data several times, and leaves at the
    deadline: the law of one delay does not cover it.
    """
    priced = quote.time
    if time is not None and time.kind == DELAY:
        if priced is not None and priced.event is not None:
            limit = now + time.seconds * SECOND
            floor = priced.floor_steps * priced.step_ns
            return HeldPlace(now, limit, priced.step_ns, delay, floor)
        deadline = time.deadline or time.seconds
    return None if deadline is None else HeldPlace(now, now + round(deadline * SECOND))


def draw_delay(quote: Quote | FitQuote, entropy: Entropy) -> int:
    """Return the delay of a charged question in steps, which is 0 if its time has no price.

    It is drawn before the question starts, so that drawing takes no time of the question.
    """
    priced = quote.time
    return 0 if priced is None or priced.event is None else priced.draw(entropy)
