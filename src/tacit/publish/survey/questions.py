"""Probabilities as people and browsers read them."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.core import ReleasedColumn
from tacit.errors import InternalError, InvalidValue
from tacit.local import (
    USUAL,
    MeanOracle,
    OneBit,
    Piecewise,
    Subset,
    best_mean,
    ratio_within,
    shares,
)

WORD = 2**32
"""A browser draws a coin from one word of 32 bits."""


def percent(share: Fraction) -> str:
    """A probability in percent, to a digit after the point where it says something.

    Example:
        >>> percent(Fraction(1, 2)), percent(Fraction(2, 3))
        ('50%', '66.7%')
    """
    shown = f"{float(100 * share):.1f}"
    return f"{shown.removesuffix('.0')}%"


def two_parts(probability: Fraction) -> list[int]:
    """Numerator and denominator, small enough for a browser's words.

    Example:
        >>> two_parts(Fraction(2, 3))
        [2, 3]
    """
    if probability.denominator > WORD:
        raise InternalError(f"A browser cannot draw with probability {probability}.")
    return [probability.numerator, probability.denominator]


# ------------------------------------------------------------------ choice
# A question with answers to choose from.

MOST_OPTIONS = 100
SOME = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the ``options``, told as a few of them.

    The randomiser is `Subset` at its best size, which has the least error of all; for two or
    three options at a usual epsilon it tells one of them.
    """

    name: str
    text: str
    options: tuple[str, ...]
    epsilon: Fraction
    remember: bool = False
    oracle: Subset = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 1 < len(set(self.options)) == len(self.options) <= MOST_OPTIONS:
            raise InvalidValue(f"A question has 2 to {MOST_OPTIONS} options, no two the same.")
        best = Subset.best(len(self.options), ratio_within(self.epsilon))
        object.__setattr__(self, "oracle", best)
        two_parts(best.odds.true)

    @property
    def ratio(self) -> Fraction:
        """That of the randomiser."""
        return self.oracle.ratio

    @property
    def recipe(self) -> dict[str, Any]:
        """What a browser must know to randomise."""
        oracle = self.oracle
        return {
            "kind": "subset",
            "choices": oracle.choices,
            "size": oracle.size,
            "kept": two_parts(oracle.odds.true),
        }

    @property
    def shape(self) -> dict[str, Any]:
        """What a form must know to show it."""
        return {"options": list(self.options)}

    @property
    def promise(self) -> str:
        """What is sent, in a sentence."""
        true, size = percent(self.oracle.odds.true), self.oracle.size
        if size == 1:
            return (
                f"What is sent: one of these answers, drawn at random. It is yours with "
                f"{true} and another one with {percent(1 - self.oracle.odds.true)}."
            )
        return (
            f"What is sent: {size} of these answers, drawn at random. Yours is one of them "
            f"with {true}."
        )

    def check(self, report: list[int]) -> None:
        """Refuse what no browser of ours sends."""
        ordered = sorted(set(report)) == report and len(report) == self.oracle.size
        if not ordered or not 0 <= report[0] <= report[-1] < len(self.options):
            raise InvalidValue(
                f"The report of {self.name!r} holds {self.oracle.size} distinct numbers below "
                f"{len(self.options)}, in order."
            )

    def estimate(
        self, reports: list[list[int]], confidence: Fraction = USUAL
    ) -> tuple[ReleasedColumn, ...]:
        """The share of each option in percent, with its interval."""
        tally = self.oracle.tally(np.array(reports, dtype=np.int64)).tolist()
        found = shares(self.oracle.odds, tally, len(reports), confidence)
        return (
            ReleasedColumn(self.name, self.options),
            ReleasedColumn(
                "percent",
                tuple(100 * share.value for share in found),
                tuple((100 * share.interval[0], 100 * share.interval[1]) for share in found),
                confidence,
            ),
        )

    def variance(self, *, private: bool = True) -> Fraction:
        """Of the estimate from one person, for the share that is estimated worst."""
        if not private:
            return SOME * SOME
        odds = self.oracle.odds
        worst = min(max(odds.share(SOME), Fraction(0)), Fraction(1))
        return odds.variance(worst)


# ------------------------------------------------------------------ number
# A question whose answer is a whole number in a public range.

MOST_STEPS = 1000


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number from ``lowest`` to ``highest``, of which the mean is estimated."""

    name: str
    text: str
    lowest: int
    highest: int
    epsilon: Fraction
    remember: bool = False
    oracle: MeanOracle = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= self.highest - self.lowest <= MOST_STEPS:
            raise InvalidValue(
                f"A range goes from one whole number to another, at most {MOST_STEPS} above."
            )
        best = best_mean(self.highest - self.lowest, ratio_within(self.epsilon))
        object.__setattr__(self, "oracle", best)
        two_parts(self._truth)

    @property
    def ratio(self) -> Fraction:
        """That of the randomiser."""
        return self.oracle.ratio

    @property
    def recipe(self) -> dict[str, Any]:
        """What a browser must know to randomise."""
        match self.oracle:
            case Piecewise(steps, reach, _):
                near = two_parts(self._truth)
                return {"kind": "piecewise", "steps": steps, "reach": reach, "near": near}
            case OneBit(steps, _):
                return {"kind": "oneBit", "steps": steps, "truth": two_parts(self._truth)}
        raise AssertionError

    @property
    def shape(self) -> dict[str, Any]:
        """What a form must know to show it."""
        return {"lowest": self.lowest, "highest": self.highest}

    @property
    def promise(self) -> str:
        """What is sent, in a sentence."""
        if isinstance(self.oracle, Piecewise):
            return (
                f"What is sent: a number drawn at random. With {percent(self._truth)} it lies "
                f"within {self.oracle.reach} of yours, and else anywhere further away."
            )
        return (
            "What is sent: “high” or “low”, drawn at random. The nearer your number is to "
            f"{self.highest}, the likelier is “high”: {percent(self._truth)} there, and "
            f"{percent(1 - self._truth)} at {self.lowest}."
        )

    def check(self, report: list[int]) -> None:
        """Refuse what no browser of ours sends."""
        oracle = self.oracle
        most = oracle.steps + 2 * oracle.reach if isinstance(oracle, Piecewise) else 1
        if len(report) != 1 or not 0 <= report[0] <= most:
            raise InvalidValue(
                f"The report of {self.name!r} holds one whole number from 0 to {most}."
            )

    def estimate(
        self, reports: list[list[int]], confidence: Fraction = USUAL
    ) -> tuple[ReleasedColumn, ...]:
        """The mean, with its interval."""
        told = np.array(reports, dtype=np.int64)[:, 0]
        found = self.oracle.mean(told, confidence)
        low, high = found.interval
        around = ((low + self.lowest, high + self.lowest),)
        return (
            ReleasedColumn(self.name, ("all",)),
            ReleasedColumn("mean", (found.value + self.lowest,), around, confidence),
        )

    def variance(self, *, private: bool = True) -> Fraction:
        """Of the estimate from one person, at most: the noise, and the luck of the sample."""
        steps = self.highest - self.lowest
        sample = Fraction(steps**2, 4)
        if not private:
            return sample
        one_bit = isinstance(self.oracle, OneBit)  # its noise has the sample's luck in it
        return self.oracle.variance + (0 if one_bit else sample)

    @property
    def _truth(self) -> Fraction:
        """How often what is told is true, or near."""
        if isinstance(self.oracle, Piecewise):
            return self.oracle.near
        return self.ratio / (1 + self.ratio)
