"""The result of an attack: its measured success, its interval and its verdict."""

from dataclasses import dataclass
from enum import Enum
from html import escape
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidValue

CONFIDENCE = 0.9999
"""Confidence of the intervals.

With this value, a correct system whose success is exactly at its limit is reported as broken
once in 20,000 times.
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """A share of successful attempts, with a confidence interval for its probability.

    Reference: Wilson 1927 (the interval); DeLong, DeLong, Clarke-Pearson 1988 (of an area).

    Example:
        >>> print(Measured.share(50, 100))
        50% (31.9% to 68.1%)
        >>> print(Measured.share(1000, 1000))
        100% (98.5% to 100%)
    """

    value: float
    low: float
    high: float
    confidence: float = CONFIDENCE

    @classmethod
    def share(cls, hits: float, count: float, confidence: float = CONFIDENCE) -> "Measured":
        """Return the share of ``hits`` among ``count`` independent attempts."""
        if not 0 <= hits <= count or count <= 0:
            raise InvalidValue(
                "A share needs at least 1 attempt, and at most as many hits as attempts, but "
                f"{hits} of {count} was given."
            )
        value = hits / count
        width = NormalDist().inv_cdf((1 + confidence) / 2)
        middle = (value + width**2 / (2 * count)) / (1 + width**2 / count)
        room = sqrt(value * (1 - value) / count + width**2 / (4 * count**2))
        half = width * room / (1 + width**2 / count)
        low, high = max(0.0, middle - half), min(1.0, middle + half)
        return cls(value, min(low, value), max(high, value), confidence)

    @classmethod
    def area(
        cls, members: NDArray[Any], others: NDArray[Any], confidence: float = CONFIDENCE
    ) -> "Measured":
        """Return the probability that a member's score is above another's; ties count half.

        It is the area under the ROC curve (AUC); a blind guess has an AUC of one half.

        Example:
            >>> print(Measured.area(np.array([2, 3, 4, 4]), np.array([1, 2, 0, 2])))
            93.8% (37.6% to 99.7%)
        """
        above = _places(members, others)
        below = _places(others, members)
        value = float(above.mean())
        spread = _variance(above) / above.size + _variance(below) / below.size
        few = min(above.size, below.size)
        # the number of independent attempts that would have the same variance
        count = value * (1 - value) / spread if spread > 0 else float(few)
        return cls.share(value * count, count, confidence)

    def __str__(self) -> str:
        value, low, high = (f"{100 * each:.3g}%" for each in (self.value, self.low, self.high))
        return f"{value} ({low} to {high})"


def _places(scores: NDArray[Any], among: NDArray[Any]) -> NDArray[np.float64]:
    """Return, for each score, the share of ``among`` that is below it; ties count half."""
    order = np.sort(among)
    left, right = np.searchsorted(order, scores), np.searchsorted(order, scores, side="right")
    return np.asarray((left + right) / (2 * among.size), dtype=np.float64)


def _variance(values: NDArray[np.float64]) -> float:
    return float(values.var(ddof=1)) if values.size > 1 else 0.0


# ------------------------------------------------------------------ verdict


class AttackVerdict(Enum):
    """The meaning of a measured success, in words.

    A success is measurably above a number if the whole confidence interval is above it.
    """

    TOLD = "tells nearly everything"
    LEAKS = "tells more than a guess"
    HELD = "not measurably above its limit"
    GUESS = "not measurably better than a guess"
    BROKEN = "measurably above its limit: tells more than the guarantee allows"
    FACT = "true with or without you: no privacy prevents it"

    @property
    def good(self) -> bool:
        """Whether the privacy of the people in the data is protected."""
        return self in {AttackVerdict.HELD, AttackVerdict.GUESS}

    @property
    def brief(self) -> str:
        """The verdict in a few words, for a narrow table."""
        return BRIEF[self]


BRIEF = {
    AttackVerdict.TOLD: "revealed",
    AttackVerdict.LEAKS: "partly revealed",
    AttackVerdict.HELD: "not measurably above its limit",
    AttackVerdict.GUESS: "not measurably above a guess",
    AttackVerdict.BROKEN: "ABOVE THE LIMIT",
    AttackVerdict.FACT: "a fact about all",
}


# ------------------------------------------------------------------ finding

NEARLY = 0.9
"""Part of the way from a guess to certainty from which nearly everything is revealed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The success of one attack on one system.

    ``chance`` is the success of an attacker who sees no answer. ``allowed`` is a bound on the
    success of every attacker in the same game, if there is a guarantee. A ``fact`` is true of
    the population whether or not one person took part, so that noise for one person does not
    hide it.

    Example:
        >>> raw = Finding(
        ...     "averaging", "fresh noise", "is Bob in?", Measured.share(99, 100), 0.5
        ... )
        >>> print(raw)
        averaging, fresh noise: is Bob in? 99% (85.2% to 99.9%), a guess 50%: \
tells nearly everything
    """

    attack: str
    system: str
    learns: str
    success: Measured
    chance: float
    allowed: float | None = None
    fact: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.chance <= 1:
            raise InvalidValue(f"chance must be a probability, but {self.chance} was given.")

    @property
    def verdict(self) -> AttackVerdict:
        """The verdict, by the confidence interval.

        A guarantee is broken if the whole interval is above its limit. A success is better
        than a guess if the whole interval is above the guess.
        """
        if self.fact:
            return AttackVerdict.FACT
        if self.allowed is not None and self.success.low > self.allowed:
            return AttackVerdict.BROKEN
        if self.success.low <= self.chance:
            return AttackVerdict.GUESS
        if self.allowed is not None:
            return AttackVerdict.HELD
        way = (self.success.value - self.chance) / (1 - self.chance) if self.chance < 1 else 0
        return AttackVerdict.TOLD if way >= NEARLY else AttackVerdict.LEAKS

    def __str__(self) -> str:
        limit = "" if self.allowed is None else f", allowed {_percent(self.allowed)}"
        return (
            f"{self.attack}, {self.system}: {self.learns} {self.success}, "
            f"a guess {_percent(self.chance)}{limit}: {self.verdict.value}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "attack": self.attack,
            "system": self.system,
            "learns": self.learns,
            "success": self.success.value,
            "low": self.success.low,
            "high": self.success.high,
            "confidence": self.success.confidence,
            "chance": self.chance,
            "allowed": self.allowed,
            "verdict": self.verdict.value,
        }

    def html_row(self) -> str:
        """Return a row of an HTML table, in which all names are escaped."""
        allowed = "" if self.allowed is None else _percent(self.allowed)
        cells = (
            self.attack,
            self.system,
            self.learns,
            str(self.success),
            _percent(self.chance),
            allowed,
        )
        tone = "good" if self.verdict.good else "bad"
        plain = "".join(f"<td>{escape(each)}</td>" for each in cells)
        return f'<tr>{plain}<td class="{tone}">{escape(self.verdict.value)}</td></tr>'


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"
