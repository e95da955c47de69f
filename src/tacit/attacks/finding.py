"""What an attacker learned, beside what a guess and the guarantee would give."""

from dataclasses import dataclass
from html import escape
from typing import Any

from tacit.attacks.measured import Measured
from tacit.attacks.verdict import Verdict
from tacit.errors import InvalidValue

NEARLY = 0.9
"""From this part of the way between a guess and certainty on, nearly everything is told."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The success of one attack on one system.

    ``chance`` is what an attacker reaches who sees nothing; ``allowed`` is the most that a
    guarantee leaves to anyone, where there is one. A ``fact`` holds whether or not any one
    person took part, so that no noise for one person hides it.

    Example:
        >>> raw = Finding("averaging", "noise anew", "is Bob in?", Measured.share(99, 100), 0.5)
        >>> print(raw)
        averaging, noise anew: is Bob in? 99% (85.2% to 99.9%), a guess 50%: \
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
            raise InvalidValue(f"Chance is a probability, and {self.chance} is not.")

    @property
    def verdict(self) -> Verdict:
        """What it means; a promise is broken where even the lower end is above it."""
        if self.fact:
            return Verdict.FACT
        if self.allowed is not None and self.success.low > self.allowed:
            return Verdict.BROKEN
        if self.success.low <= self.chance:
            return Verdict.GUESS
        if self.allowed is not None:
            return Verdict.HELD
        way = (self.success.value - self.chance) / (1 - self.chance) if self.chance < 1 else 0
        return Verdict.TOLD if way >= NEARLY else Verdict.LEAKS

    def __str__(self) -> str:
        limit = "" if self.allowed is None else f", allowed {_percent(self.allowed)}"
        return (
            f"{self.attack}, {self.system}: {self.learns} {self.success}, "
            f"a guess {_percent(self.chance)}{limit}: {self.verdict.value}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
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
        """A row of a table; whatever stands in a name is text to a browser."""
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
