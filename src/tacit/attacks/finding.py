"""The result of an attack: its measured success, its interval and its verdict."""

from dataclasses import asdict, dataclass
from enum import Enum
from html import escape
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidValue

ERROR = 1e-4
"""Probability with which a blind attacker may be said to have learned something."""

CONFIDENCE = 0.9999
"""Confidence of the intervals.

With this value, a correct system whose success is exactly at its limit is reported as broken
once in 20,000 times.
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """A share of successful attempts, with a confidence interval for its probability.

    ``count`` is the number of independent attempts that would have the same variance, or 0 if
    it is not known.

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
    count: float = 0.0

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
        return cls(value, min(low, value), max(high, value), confidence, count)

    @classmethod
    def balanced_accuracy(
        cls, hits: NDArray[Any], counts: NDArray[Any], confidence: float = CONFIDENCE
    ) -> "Measured":
        """Return the mean of the shares ``hits / counts``: the balanced accuracy.

        Each entry is one value of a secret: how many people have it, and for how many of them
        it was guessed. The interval has the variance of the attempts, or that of attempts
        which succeed equally often for each value, whichever is larger.

        Example:
            >>> print(Measured.balanced_accuracy(np.array([5, 995]), np.array([5, 995])))
            100% (56.8% to 100%)
        """
        shares = hits / counts
        value = float(shares.mean())
        spread = float((shares * (1 - shares) / counts).sum()) / counts.size**2
        alike = counts.size**2 / float((1 / counts).sum())
        found = min(alike, value * (1 - value) / spread) if spread > 0 else alike
        return cls.share(value * found, found, confidence)

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


class Tone(Enum):
    """The colour of a verdict. Only a verdict that nothing was learned is green."""

    GREEN = "good"
    AMBER = "noted"
    GREY = "unclear"
    RED = "bad"


class AttackVerdict(Enum):
    """The meaning of a measured success, in words.

    A success is measurably above a number if the whole confidence interval is above it. Guesses
    at secrets are measurably better than a blind guess if `tacit.attacks.chance.luck` says so.
    """

    TOLD = "tells nearly everything"
    LEAKS = "tells more than a guess"
    HELD = "tells more than a guess, and is not measurably above its limit"
    GUESS = "not measurably better than a guess"
    UNCLEAR = "too few people to distinguish a leak from luck: treat it as a leak"
    BROKEN = "measurably above its limit: tells more than the guarantee allows"
    FACT = "true with or without you: no privacy prevents it"

    @property
    def good(self) -> bool:
        """Whether the people in the data are protected as much as was promised."""
        return self in {AttackVerdict.HELD, AttackVerdict.GUESS}

    @property
    def tone(self) -> Tone:
        """The colour of the verdict.

        Guarantee: it is green only if no more than chance was learned, as far as the test can
        tell, and if the test could have found a full reconstruction.
        """
        return TONES[self]

    @property
    def brief(self) -> str:
        """The verdict in a few words, for a narrow table."""
        return BRIEF[self]


TONES = {
    AttackVerdict.TOLD: Tone.RED,
    AttackVerdict.LEAKS: Tone.RED,
    AttackVerdict.HELD: Tone.AMBER,
    AttackVerdict.GUESS: Tone.GREEN,
    AttackVerdict.UNCLEAR: Tone.GREY,
    AttackVerdict.BROKEN: Tone.RED,
    AttackVerdict.FACT: Tone.AMBER,
}
BRIEF = {
    AttackVerdict.TOLD: "revealed",
    AttackVerdict.LEAKS: "partly revealed",
    AttackVerdict.HELD: "not measurably above its limit",
    AttackVerdict.GUESS: "not measurably above a guess",
    AttackVerdict.UNCLEAR: "too few people to tell",
    AttackVerdict.BROKEN: "ABOVE THE LIMIT",
    AttackVerdict.FACT: "a fact about all",
}


# ------------------------------------------------------------------ finding

NEARLY = 0.9
"""Part of the way from a guess to certainty from which nearly everything is revealed."""


@dataclass(frozen=True, slots=True)
class Naming:
    """How many of the people who have a rare secret are named, and how many others.

    ``blind`` is the number of people whom a blind attacker would name rightly, on average, who
    names as many.

    Example:
        >>> print(Naming(right=5, have=5, named=6, blind=0.03))
        names 5 of the 5 who have it, and 1 other (a blind guess of as many: 0.03)
    """

    right: int
    have: int
    named: int
    blind: float

    def __str__(self) -> str:
        wrong = self.named - self.right
        others = f"{wrong:,} other{'' if wrong == 1 else 's'}"
        blind = f"{self.blind:,.0f}" if self.blind >= 10 else f"{self.blind:.2g}"  # noqa: PLR2004
        return (
            f"names {self.right:,} of the {self.have:,} who have it, and {others} "
            f"(a blind guess of as many: {blind})"
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """The success of one attack on one system.

    ``chance`` is the success of an attacker who sees no answer. ``allowed`` is a bound on the
    success of every attacker in the same game, if there is a guarantee. A ``fact`` is true of
    the population whether or not one person took part, so that noise for one person does not
    hide it. ``without`` is the success of the same attack on data without each person.

    ``luck`` is a bound on the probability that a blind attacker does as well, and ``tellable``
    says whether a full reconstruction could be distinguished from luck; where luck is None, the
    confidence interval decides. ``proved`` is the number of people about whom the attacker is
    certain, which is no matter of luck.

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
    luck: float | None = None
    tellable: bool = True
    naming: Naming | None = None
    without: float | None = None
    proved: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.chance <= 1:
            raise InvalidValue(f"chance must be a probability, but {self.chance} was given.")

    @property
    def learned(self) -> bool:
        """Whether more than chance was learned.

        Guarantee: an attacker whose guesses do not depend on the secrets gets True with
        probability at most `ERROR`.
        """
        if self.proved:
            return True
        if self.luck is not None:
            return self.luck <= ERROR
        return self.success.low > self.chance

    @property
    def verdict(self) -> AttackVerdict:
        """The verdict.

        A guarantee is broken if the whole interval is above its limit. If more than chance was
        learned, but most of it is learned without the person too, it is a fact. If
        no more than chance was learned, the verdict is a guess only if a full reconstruction
        could have been distinguished from luck.
        """
        success = self.success
        if self.fact:
            return AttackVerdict.FACT
        if self.allowed is not None and success.low > self.allowed:
            return AttackVerdict.BROKEN
        if not self.learned:
            return AttackVerdict.GUESS if self._tellable else AttackVerdict.UNCLEAR
        if self._is_explained and not self.proved:
            return AttackVerdict.FACT
        if self.allowed is not None:
            return AttackVerdict.HELD
        way = (success.value - self.chance) / (1 - self.chance) if self.chance < 1 else 0
        return AttackVerdict.TOLD if way >= NEARLY else AttackVerdict.LEAKS

    @property
    def _is_explained(self) -> bool:
        """Whether the same attack without the person has most of this success, and nearly all.

        It must have half of what is above chance, and be inside the confidence interval. The
        interval alone is too wide for that where few people have a value.
        """
        if self.without is None:
            return False
        most = (self.without - self.chance) >= (self.success.value - self.chance) / 2
        return most and self.without >= self.success.low

    @property
    def _tellable(self) -> bool:
        """Whether the verdict would be another one if all attempts were right."""
        if self.luck is not None or not self.success.count:
            return self.tellable
        count = self.success.count
        return Measured.share(count, count, self.success.confidence).low > self.chance

    def __str__(self) -> str:
        limit = "" if self.allowed is None else f", allowed {_percent(self.allowed)}"
        naming = "" if self.naming is None else f"; {self.naming}"
        return (
            f"{self.attack}, {self.system}: {self.learns} {self.success}, "
            f"a guess {_percent(self.chance)}{limit}: {self.verdict.value}{naming}"
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
            "tone": self.verdict.tone.value,
            "luck": self.luck,
            "without": self.without,
            "proved": self.proved,
            "naming": None if self.naming is None else asdict(self.naming),
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
        tone = self.verdict.tone.value
        plain = "".join(f"<td>{escape(each)}</td>" for each in cells)
        naming = "" if self.naming is None else f"<br>{escape(str(self.naming))}"
        return f'<tr>{plain}<td class="{tone}">{escape(self.verdict.value)}{naming}</td></tr>'


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"
