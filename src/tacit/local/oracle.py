"""How much more likely a report may be under one answer than under another: e to the epsilon.

Every randomiser of this package is made from one rational number, its ``ratio``, and all its
probabilities are rational then. So rounding happens once, here, toward more privacy, and the
law that is drawn is the law that the proof speaks of.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from tacit.core import RandomisedResponseEvent
from tacit.errors import InvalidValue
from tacit.mechanisms import valid_confidence
from tacit.noise import Integers
from tacit.numeric import (
    Number,
    exact,
    exp_bounds,
    floor_to,
    greatest_probability,
    least_probability,
    log_bounds,
    plain,
)
from tacit.numeric.entropy import Entropy

STEP = Fraction(1, 2**16)
"""Ratios are multiples of this, so that a browser draws every coin from one 32-bit word."""

MOST = 2**12
"""No ratio is above this: an answer that is told truly 4,096 times in 4,097 is not hidden."""


def ratio_within(epsilon: Number) -> Fraction:
    """The greatest ratio whose logarithm is within ``epsilon``.

    Guarantee: never above e to the epsilon; 2**-16 below it at most.

    Example:
        >>> ratio_within(1)
        Fraction(178145, 65536)
    """
    asked = exact(epsilon)
    if not 0 < asked <= log_bounds(Fraction(MOST))[0]:
        raise InvalidValue(f"The epsilon of a report lies in (0, 8.3], and {asked} was given.")
    return floor_to(exp_bounds(asked)[0], STEP)


def valid_ratio(ratio: Fraction) -> Fraction:
    """The ratio itself, refused where reports would say nothing, or nearly all.

    Example:
        >>> valid_ratio(Fraction(2))
        Fraction(2, 1)
    """
    if not 1 < ratio <= MOST:
        raise InvalidValue(
            f"A ratio lies above 1 and at or below {MOST}, and {plain(ratio)} was given."
        )
    return ratio


def epsilon_of(ratio: Fraction) -> Fraction:
    """The epsilon of a report, rounded up.

    Example:
        >>> float(epsilon_of(Fraction(2)))
        0.6931471805599453
    """
    return log_bounds(valid_ratio(ratio))[1]


def event_of(ratio: Fraction) -> RandomisedResponseEvent:
    """One report, for a ledger: told truly or not, with the odds of ``ratio``.

    Whatever a randomiser of this ratio tells can be made from such a coin, so that the coin
    costs as much as any of them or more.
    Reference: Kairouz, Oh, Viswanath 2015, theorem 2.5.

    Example:
        >>> event_of(Fraction(2))
        RandomisedResponseEvent(truth=Fraction(2, 3), choices=2)
    """
    return RandomisedResponseEvent(ratio / (1 + valid_ratio(ratio)), choices=2)


# ------------------------------------------------------------------ answers
# Answers as integers from 0 up, and what is refused.

MOST_CHOICES = 2**20


def valid_choices(choices: int) -> int:
    """The number of answers, refused where there is nothing to choose.

    Example:
        >>> valid_choices(2)
        2
    """
    if not 2 <= choices <= MOST_CHOICES:  # noqa: PLR2004 - fewer is no question
        raise InvalidValue(
            f"A question has 2 to {MOST_CHOICES} answers, and {choices} were given."
        )
    return choices


def valid_answers(answers: Integers, choices: int) -> Integers:
    """The answers themselves, refused where one is not below ``choices``.

    Example:
        >>> import numpy as np
        >>> valid_answers(np.array([0, 1]), 2).tolist()
        [0, 1]
    """
    if answers.size and not 0 <= int(answers.min()) <= int(answers.max()) < choices:
        raise InvalidValue(f"Answers lie from 0 to {choices - 1}, and one does not.")
    return answers


# ------------------------------------------------------------------ odds
# All that an estimator must know of a randomiser: how often its reports speak for what.


@dataclass(frozen=True, slots=True)
class Odds:
    """How likely a report speaks for the answer that is true, and for one that is not.

    A report of one answer speaks for that answer, one of several for each of them. So the
    reports that speak for an answer are a binomial number, whatever the randomiser.
    Reference: Wang, Blocki, Li, Jha 2017 ("pure" protocols).

    Example:
        >>> coin = Odds(true=Fraction(2, 3), other=Fraction(1, 3))
        >>> coin.share(Fraction(1, 2)), coin.variance()
        (Fraction(1, 2), Fraction(2, 1))
    """

    true: Fraction
    other: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.other < self.true <= 1:
            raise InvalidValue(
                "Reports speak for what is true more often than for what is not, and "
                f"{self.true} and {self.other} were given."
            )

    def share(self, told: Fraction) -> Fraction:
        """The share of people whose answer it is, where a share ``told`` speaks for it.

        Guarantee: free of bias: ``told`` is ``other + share * (true - other)`` on average.
        """
        return (told - self.other) / (self.true - self.other)

    def variance(self, share: Fraction = Fraction(0)) -> Fraction:
        """Of the estimate from one report of somebody who was drawn at random.

        ``share`` is that of the people whose answer it is. Of n reports it is the n-th part.
        """
        told = self.other + share * (self.true - self.other)
        return told * (1 - told) / (self.true - self.other) ** 2


# ------------------------------------------------------------------ oracle
# A randomiser of one answer out of several: what a client does, and what a collector needs.


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


# ------------------------------------------------------------------ shares
# The estimator: from how many reports speak for each answer to shares with intervals.

USUAL = Fraction(95, 100)
"""How sure intervals are, unless somebody says otherwise."""


@dataclass(frozen=True, slots=True)
class ShareEstimate:
    """An estimated share, and the interval that holds the true one at its confidence."""

    value: Fraction
    """Free of bias; it may lie below 0 or above 1."""
    interval: tuple[Fraction, Fraction]
    """Within [0, 1]."""


def shares(
    odds: Odds, tally: Sequence[int], reports: int, confidence: Fraction = USUAL
) -> tuple[ShareEstimate, ...]:
    """The share of each answer, from how many of the ``reports`` speak for it.

    Guarantee: each interval holds the share among all people with at least ``confidence``,
    where those who answered are a random sample of them, whatever their number. The noise of
    the reports and the luck of the sample are both in it, since the number of reports that
    speak for an answer is binomial.
    Reference: Clopper, Pearson 1934.

    Example:
        >>> coin = Odds(Fraction(2, 3), Fraction(1, 3))
        >>> [float(share.value) for share in shares(coin, [550, 450], 1000)]
        [0.65, 0.35]
    """
    valid_confidence(confidence)
    if reports < 1:
        raise InvalidValue("Nothing can be estimated from no report.")
    return tuple(_share(odds, told, reports, float(1 - confidence) / 2) for told in tally)


def _share(odds: Odds, told: int, reports: int, mistake: float) -> ShareEstimate:
    least = Fraction(least_probability(told, reports, mistake))
    most = Fraction(greatest_probability(told, reports, mistake))
    low, high = (min(max(odds.share(end), Fraction(0)), Fraction(1)) for end in (least, most))
    return ShareEstimate(odds.share(Fraction(told, reports)), (low, high))


# ------------------------------------------------------------------ mean
# The mean of numbers from 0 to a public most, of which nobody tells their own.


@dataclass(frozen=True, slots=True)
class MeanEstimate:
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

    def mean(self, reports: Integers, confidence: Fraction = ...) -> MeanEstimate:
        """The mean number, as far as the reports tell: this happens at the collector."""
        ...
