"""The price of the time at which an answer leaves, as a part of a question's loss.

A question starts at a public time S, and the engine's result arrives at a time E. By assumption
one person moves E - S by at most ``person_ms``, which is one step of a grid. The answer leaves
at S plus ceil(E - S) plus a random delay, all in steps. One person then moves the time of
leaving, without the delay, by at most one step, so that the delay makes it private: its law is
`tacit.core.DelayNoise`, and it is charged with the question. The noise of the answer is drawn
after E and independently of the delay, so that the losses of both add up.

The time is paid from the loss that was asked for: the answer has a little more noise, and the
price stays as it was typed. Only the delta of the delay is added.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import floor, log10
from typing import Any, Self

from tacit.accounting import cost_of, least_that, show_loss
from tacit.core import DelayNoise, Loss, Measure
from tacit.errors import InternalError, InvalidValue
from tacit.noise import LONGEST_REACH, TruncatedDiscreteGaussian
from tacit.numeric import plain, sqrt_bounds
from tacit.numeric.entropy import Entropy
from tacit.project import DELAY, OPEN, ServerTime

DIGITS = 3
"""Digits of the rho of a delay, which is rounded down, so that few tables of delays are
computed. A delay is then up to 0.5% longer."""

LEAST_RHO, MOST_RHO = Fraction(1, 10**12), Fraction(1)
"""The least and the most rho of a delay. More would not shorten it by a step."""

UNPROTECTED = (
    "nobody who could learn from it sees when the answer arrives, because the time of answers "
    "is open"
)
"""The assumption of an answer whose time is not protected."""


@dataclass(frozen=True, slots=True)
class PricedTime:
    """The cost and the assumption of one answer's time; without an event it costs nothing.

    Example:
        >>> time = price_time(ServerTime(DELAY), Loss.zcdp("0.006"))
        >>> time.event.variance, time.event.reach, time.mean_ms
        (Fraction(5000, 3), 304, Fraction(649, 2))
        >>> time.loss.amount, time.loss.delta
        (Fraction(3, 10000), Fraction(1, 100000000000000))
    """

    event: DelayNoise | None
    delta: Fraction
    """An upper bound on the delta of the event."""
    floor_steps: int
    assumption: str

    @property
    def loss(self) -> Loss:
        """The part of the loss that pays for the time; its delta is rounded up."""
        if self.event is None:
            return Loss.zcdp(0)
        return Loss(Measure.ZCDP, cost_of(self.event).rho, self.delta)

    @property
    def mean_ms(self) -> Fraction:
        """The mean of the delay in milliseconds; rounding up to the grid adds half a step."""
        event = self._delay
        return (self.floor_steps + event.reach + Fraction(1, 2)) * event.step_ms

    @property
    def most_ms(self) -> Fraction:
        """The largest delay in milliseconds."""
        event = self._delay
        return (self.floor_steps + 2 * event.reach + 1) * event.step_ms

    @property
    def sentence(self) -> str:
        """A line for the preview of a question."""
        if self.event is None:
            return "The time of the answer is not protected."
        return (
            f"Of the price, {self.loss} pays for the time at which the answer leaves: about "
            f"{_seconds(self.mean_ms)} s later, and at most {_seconds(self.most_ms)} s."
        )

    def rest_of(self, asked: Loss) -> Loss:
        """Return the part of the loss ``asked`` that pays for the noise of the answer."""
        if self.event is None:
            return asked
        rest = asked.amount - self.loss.amount
        if asked.measure is not Measure.ZCDP or rest <= 0:
            raise InternalError("A delay costs more than the loss that was asked for.")
        return Loss(asked.measure, rest, asked.delta)

    def total_of(self, asked: Loss) -> Loss:
        """Return the loss of the answer with its time: the delta of the delay is added."""
        if self.event is None:
            return asked
        return Loss(asked.measure, asked.amount, asked.delta + self.loss.delta)

    def draw(self, entropy: Entropy) -> int:
        """Return a random delay in steps, which depends on public numbers only."""
        event = self._delay
        [drawn] = TruncatedDiscreteGaussian(event.variance, event.reach).draw(entropy, 1)
        return self.floor_steps + event.reach + int(drawn)

    @property
    def step_ns(self) -> int:
        """The step of the grid in nanoseconds."""
        return int(self._delay.step_ms * 10**6)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, which a worker process receives with a question."""
        event = self.event
        told: dict[str, Any] = {"delta": str(self.delta), "floor": self.floor_steps}
        told["assumes"] = self.assumption
        if event is not None:
            told["delay"] = [str(event.variance), event.reach, str(event.step_ms)]
        return told

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Self:
        """Return the priced time from its plain values."""
        event = None
        if "delay" in told:
            variance, reach, step = told["delay"]
            event = DelayNoise(Fraction(variance), reach, Fraction(step))
        return cls(event, Fraction(told["delta"]), told["floor"], told["assumes"])

    @property
    def _delay(self) -> DelayNoise:
        if self.event is None:
            raise InternalError("An answer whose time is open has no delay.")
        return self.event


def price_time(time: ServerTime | None, loss: Loss) -> PricedTime | None:
    """Return the price of the time of a question that asks for ``loss``.

    None means that nothing is charged and assumed: there is no server, or it has a deadline.

    Guarantee: the rho of the delay is at most the share of ``loss`` that ``time`` names, and
    its delta is at most the delta that ``time`` names.
    """
    if time is None or time.kind not in {DELAY, OPEN}:
        return None
    if time.kind == OPEN:
        return PricedTime(None, Fraction(0), 0, UNPROTECTED)
    if loss.measure is not Measure.ZCDP:
        raise InvalidValue(
            "The time of this server's answers is delayed, which only a budget in rho with "
            "delta can pay for. Ask an operator to choose another rule in [server.time]."
        )
    if loss.amount * time.share < LEAST_RHO:
        raise InvalidValue(
            f"A rho of {float(loss.amount):.2g} cannot pay for the time of its answer. "
            "Ask for more. Nothing was charged."
        )
    return PricedTime(
        _delay_of(time, loss.amount),
        time.delta,
        time.floor_steps,
        "one person moves the time from a question's start to the engine's result by at most "
        f"{plain(time.person_ms)} ms ({time.evidence})",
    )


def check_delay(
    time: ServerTime | None, priced: PricedTime | None, conversion_delta: Fraction = Fraction(0)
) -> None:
    """Refuse a question whose delay would be longer than half of its time limit.

    The less a question pays, the longer is its delay. The least loss is shown in epsilon too if
    the ``conversion_delta`` of the budget is given.
    """
    if time is None or priced is None or priced.event is None:
        return
    most_ms = _longest_ms(time)
    if priced.most_ms > most_ms or priced.event.reach > LONGEST_REACH:
        least = show_loss(least_delayed(time), conversion_delta)
        raise InvalidValue(
            f"For this loss, the answer would be delayed by up to {_seconds(priced.most_ms)} "
            f"s, and this server allows {_seconds(most_ms)} s. Ask for at least {least}. "
            "Nothing was charged."
        )


@lru_cache(maxsize=64)
def least_delayed(time: ServerTime) -> Loss:
    """Return about the least loss of a question whose delay `check_delay` allows."""
    steps = _longest_ms(time) / time.person_ms - time.floor_steps
    reach = min(Fraction(LONGEST_REACH), steps / 2 - 1)
    rho = LEAST_RHO / time.share
    while rho < 1 and _delay_of(time, rho).reach > reach:
        rho *= Fraction(11, 10)
    return Loss.zcdp(_few_digits(rho))


def _longest_ms(time: ServerTime) -> Fraction:
    """Return half of the time limit of a question, in milliseconds."""
    return Fraction(1000 * time.seconds, 2)


def _delay_of(time: ServerTime, rho: Fraction) -> DelayNoise:
    """Return the delay of a question that asks for ``rho``."""
    paid = min(rho * time.share, MOST_RHO)
    return _delay_for(_round_down(paid), time.delta, time.person_ms)


def _few_digits(number: Fraction) -> Fraction:
    """Return ``number`` with two digits, rounded up.

    Example:
        >>> _few_digits(Fraction("0.0002412"))
        Fraction(1, 4000)
    """
    unit = Fraction(10) ** (floor(log10(number)) - 1)
    return -(-number // unit) * unit


def _round_down(rho: Fraction) -> Fraction:
    """Return ``rho`` with a few digits, rounded down.

    Example:
        >>> _round_down(Fraction("0.00123456"))
        Fraction(123, 100000)
    """
    unit = Fraction(10) ** (floor(log10(rho)) + 1 - DIGITS)
    return rho // unit * unit


@lru_cache(maxsize=1024)
def _delay_for(rho: Fraction, delta: Fraction, step_ms: Fraction) -> DelayNoise:
    """Return the delay of this ``rho`` with the least reach that ``delta`` allows."""
    variance = 1 / (2 * rho)
    root = -(-sqrt_bounds(variance)[1] // 1)

    def holds(reach: Fraction) -> bool:
        return (
            reach >= root and cost_of(DelayNoise(variance, int(reach), step_ms)).delta <= delta
        )

    reach = least_that(holds, Fraction(1), near=Fraction(7 * root))
    return DelayNoise(variance, int(reach), step_ms)


def _seconds(milliseconds: Fraction) -> str:
    """Return seconds with two digits, as a decimal.

    Example:
        >>> _seconds(Fraction(207123)), _seconds(Fraction(17))
        ('210', '0.017')
    """
    return plain(Fraction(f"{float(milliseconds) / 1000:.2g}"))
