"""The questions of a survey, their randomisers and their estimates.

`Choice` asks for one of several options, and `Number` for a whole number in a public range.
Each one describes to a browser how to randomise the answer, and estimates the shares or the
mean from the reports.
"""

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
"""Number of values of a 32-bit word, from which a browser draws a coin."""


def percent(share: Fraction) -> str:
    """Return a probability in percent, with at most one decimal.

    Example:
        >>> percent(Fraction(1, 2)), percent(Fraction(2, 3))
        ('50%', '66.7%')
    """
    shown = f"{float(100 * share):.1f}"
    return f"{shown.removesuffix('.0')}%"


def two_parts(probability: Fraction) -> list[int]:
    """Return numerator and denominator, and raise if they are too large for a browser.

    Example:
        >>> two_parts(Fraction(2, 3))
        [2, 3]
    """
    if probability.denominator > WORD:
        raise InternalError(f"A browser cannot draw with probability {probability}.")
    return [probability.numerator, probability.denominator]


# ------------------------------------------------------------------ options

MOST_OPTIONS = 100
SOME = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Choice:
    """A question about one of several ``options``; the report is a random subset of them.

    The randomiser is `Subset` with its best size, which has the smallest error of all
    randomisers. For two or three options at a usual epsilon, the subset has one option.
    """

    name: str
    text: str
    options: tuple[str, ...]
    epsilon: Fraction
    remember: bool = False
    oracle: Subset = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 1 < len(set(self.options)) == len(self.options) <= MOST_OPTIONS:
            raise InvalidValue(
                f"A question must have 2 to {MOST_OPTIONS} options, no two the same."
            )
        best = Subset.best(len(self.options), ratio_within(self.epsilon))
        object.__setattr__(self, "oracle", best)
        two_parts(best.odds.true)

    @property
    def ratio(self) -> Fraction:
        """The probability ratio (e to the epsilon) of the randomiser."""
        return self.oracle.ratio

    @property
    def recipe(self) -> dict[str, Any]:
        """The parameters by which the browser randomises the answer, as JSON values."""
        oracle = self.oracle
        return {
            "kind": "subset",
            "choices": oracle.choices,
            "size": oracle.size,
            "kept": two_parts(oracle.odds.true),
        }

    @property
    def shape(self) -> dict[str, Any]:
        """The public facts that the web form needs to show the question, as JSON values."""
        return {"options": list(self.options)}

    @property
    def promise(self) -> str:
        """The text that explains to respondents what their browser sends."""
        true, size = percent(self.oracle.odds.true), self.oracle.size
        if size == 1:
            return (
                f"One of these answers is sent, drawn at random. It is yours with "
                f"probability {true}, and another one with probability "
                f"{percent(1 - self.oracle.odds.true)}."
            )
        return (
            f"Your browser sends {size} of these answers, drawn at random. Yours is one of "
            f"them with probability {true}."
        )

    def check(self, report: list[int]) -> None:
        """Raise for a report that our form cannot have sent."""
        ordered = sorted(set(report)) == report and len(report) == self.oracle.size
        if not ordered or not 0 <= report[0] <= report[-1] < len(self.options):
            raise InvalidValue(
                f"The report of {self.name!r} must hold {self.oracle.size} distinct numbers "
                f"below {len(self.options)}, in order."
            )

    def estimate(
        self, reports: list[list[int]], confidence: Fraction = USUAL
    ) -> tuple[ReleasedColumn, ...]:
        """Return the share of each option in percent, with its confidence interval."""
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
        """Return the variance of one person's estimate, for the share with the largest one."""
        if not private:
            return SOME * SOME
        odds = self.oracle.odds
        worst = min(max(odds.share(SOME), Fraction(0)), Fraction(1))
        return odds.variance(worst)


# ------------------------------------------------------------------ numbers

MOST_STEPS = 1000


@dataclass(frozen=True, slots=True)
class Number:
    """A question about a whole number from ``lowest`` to ``highest``, to estimate the mean."""

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
                "A range must go from a whole number to a larger one, which is at most "
                f"{MOST_STEPS} larger."
            )
        best = best_mean(self.highest - self.lowest, ratio_within(self.epsilon))
        object.__setattr__(self, "oracle", best)
        two_parts(self._truth)

    @property
    def ratio(self) -> Fraction:
        """The probability ratio (e to the epsilon) of the randomiser."""
        return self.oracle.ratio

    @property
    def recipe(self) -> dict[str, Any]:
        """The parameters by which the browser randomises the answer, as JSON values."""
        match self.oracle:
            case Piecewise(steps, reach, _):
                near = two_parts(self._truth)
                return {"kind": "piecewise", "steps": steps, "reach": reach, "near": near}
            case OneBit(steps, _):
                return {"kind": "oneBit", "steps": steps, "truth": two_parts(self._truth)}
        raise AssertionError

    @property
    def shape(self) -> dict[str, Any]:
        """The public facts that the web form needs to show the question, as JSON values."""
        return {"lowest": self.lowest, "highest": self.highest}

    @property
    def promise(self) -> str:
        """The text that explains to respondents what their browser sends."""
        if isinstance(self.oracle, Piecewise):
            return (
                f"A number is sent, drawn at random. With probability {percent(self._truth)} "
                f"it is within {self.oracle.reach} of yours; otherwise it is farther away."
            )
        return (
            "“High” or “low” is sent, drawn at random. The nearer your number is to "
            f"{self.highest}, the more probable is “high”: the probability is "
            f"{percent(self._truth)} at {self.highest}, and {percent(1 - self._truth)} at "
            f"{self.lowest}."
        )

    def check(self, report: list[int]) -> None:
        """Raise for a report that our form cannot have sent."""
        oracle = self.oracle
        most = oracle.steps + 2 * oracle.reach if isinstance(oracle, Piecewise) else 1
        if len(report) != 1 or not 0 <= report[0] <= most:
            raise InvalidValue(
                f"The report of {self.name!r} must hold one whole number from 0 to {most}."
            )

    def estimate(
        self, reports: list[list[int]], confidence: Fraction = USUAL
    ) -> tuple[ReleasedColumn, ...]:
        """Return the mean, with its confidence interval."""
        numbers = np.array(reports, dtype=np.int64)[:, 0]
        found = self.oracle.mean(numbers, confidence)
        low, high = found.interval
        around = ((low + self.lowest, high + self.lowest),)
        return (
            ReleasedColumn(self.name, ("all",)),
            ReleasedColumn("mean", (found.value + self.lowest,), around, confidence),
        )

    def variance(self, *, private: bool = True) -> Fraction:
        """Return a bound on the variance of one person's estimate: noise and sampling."""
        steps = self.highest - self.lowest
        sample = Fraction(steps**2, 4)
        if not private:
            return sample
        one_bit = isinstance(self.oracle, OneBit)  # its variance includes the sampling
        return self.oracle.variance + (0 if one_bit else sample)

    @property
    def _truth(self) -> Fraction:
        """The probability that a report is true, or near the true number."""
        if isinstance(self.oracle, Piecewise):
            return self.oracle.near
        return self.ratio / (1 + self.ratio)
