"""A question whose answer is a whole number in a public range."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.core.release import ReleasedColumn
from tacit.errors import InvalidValue
from tacit.local.choose import best_mean
from tacit.local.mean import MeanOracle
from tacit.local.one_bit import OneBit
from tacit.local.piecewise import Piecewise
from tacit.local.ratio import ratio_within
from tacit.local.shares import USUAL
from tacit.publish.survey.percent import percent, two_parts

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
