"""The mean of numbers from 0 to a public most, of which nobody tells their own."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class Mean:
    """An estimated mean, and the interval that holds the true one at its confidence."""

    value: Fraction
    """Free of bias; it may lie outside the range of the numbers."""
    interval: tuple[Fraction, Fraction]
    """Within that range."""


class MeanOracle(Protocol):
    """A frozen recipe for whole numbers from 0 to ``steps``; a report is one integer."""

    @property
    def steps(self) -> int:
        """The greatest number; the least is 0."""
        ...

    @property
    def ratio(self) -> Fraction:
        """How much more likely a report is under one number than under another, at most."""
        ...

    @property
    def variance(self) -> Fraction:
        """Of the estimate from one report, in steps squared, for the worst of all numbers."""
        ...

    def randomise(self, numbers: Integers, entropy: Entropy) -> Integers:
        """A report for each number: this happens on each person's own machine."""
        ...

    def mean(self, reports: Integers, confidence: Fraction = ...) -> Mean:
        """The mean number, as far as the reports tell: this happens at the collector."""
        ...
