"""A randomiser of one answer out of several: what a client does, and what a collector needs."""

from fractions import Fraction
from typing import Protocol

from tacit.local.odds import Odds
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy


class Oracle(Protocol):
    """A frozen recipe: answers are integers below ``choices``, reports are rows of integers.

    Guarantee: no report is more than ``ratio`` times as likely under one answer as under
    another.
    """

    @property
    def choices(self) -> int:
        """How many answers there are."""
        ...

    @property
    def ratio(self) -> Fraction:
        """How much more likely a report is under one answer than under another, at most."""
        ...

    @property
    def bits(self) -> int:
        """How long a report is."""
        ...

    @property
    def odds(self) -> Odds:
        """All that an estimator must know."""
        ...

    def randomise(self, answers: Integers, entropy: Entropy) -> Integers:
        """A report for each answer: this is what happens on each person's own machine."""
        ...

    def tally(self, reports: Integers) -> Integers:
        """How many reports speak for each answer: this is what happens at the collector."""
        ...
