"""The interfaces of randomisers in the local model, and the estimator of shares.

The privacy of a randomiser is its ``ratio``, which is e to the epsilon: how much more likely a
report can be under one answer than under another. The ratio is a rational number, and all
probabilities of a randomiser are rational functions of it. So rounding happens only once, here,
toward more privacy, and the sampled distribution is exactly the one in the proof.

`Odds` holds the two probabilities that an estimator needs, `Oracle` and `MeanOracle` are the
interfaces of randomisers, and `shares` estimates shares with confidence intervals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from tacit.core import RandomisedResponseEventV2
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
"""Step of a report's probability ratio (e to the epsilon).

A multiple of it gives coins that a browser can draw from one 32-bit word.
"""

MOST = 2**12
"""The largest ratio; an answer that is true 4,096 times in 4,097 is hardly protected."""


def ratio_within(epsilon: Number) -> Fraction:
    """Return the largest ratio whose logarithm is at most ``epsilon``.

    Guarantee: the ratio is never above e to the epsilon, and at most 2**-16 below it.

    Example:
        >>> ratio_within(1)
        Fraction(178145, 65536)
    """
    asked = exact(epsilon)
    if not 0 < asked <= log_bounds(Fraction(MOST))[0]:
        raise InvalidValue(
            f"The epsilon of a report must be above 0 and at most 8.3, but {asked} was given."
        )
    return floor_to(exp_bounds(asked)[0], STEP)


def valid_ratio(ratio: Fraction) -> Fraction:
    """Return the ratio if it is valid; raise if it is not above 1, or if it is too large.

    Example:
        >>> valid_ratio(Fraction(2))
        Fraction(2, 1)
    """
    if not 1 < ratio <= MOST:
        raise InvalidValue(
            "The probability ratio of a report (e to the epsilon) must be above 1 and at most "
            f"{MOST}, but {plain(ratio)} was given."
        )
    return ratio


def epsilon_of(ratio: Fraction) -> Fraction:
    """Return the epsilon of a report, rounded up.

    Example:
        >>> float(epsilon_of(Fraction(2)))
        0.6931471805599453
    """
    return log_bounds(valid_ratio(ratio))[1]


def event_of(ratio: Fraction) -> RandomisedResponseEventV2:
    """Return the event of one report: randomised response with two answers and this ratio.

    The report of any randomiser with this ratio can be computed from such a response, so the
    event's loss is an upper bound for all of them.
    Reference: Kairouz, Oh, Viswanath 2015, theorem 2.5.

    Example:
        >>> event_of(Fraction(2))
        RandomisedResponseEventV2(truth=Fraction(2, 3), choices=2)
    """
    return RandomisedResponseEventV2(ratio / (1 + valid_ratio(ratio)), choices=2)


# ------------------------------------------------------------------ validation of answers

MOST_CHOICES = 2**20
"""The largest number of answers of a question."""


def valid_choices(choices: int) -> int:
    """Return the number of answers; raise if it is below 2 or too large.

    Example:
        >>> valid_choices(2)
        2
    """
    if not 2 <= choices <= MOST_CHOICES:  # noqa: PLR2004 - a question needs two answers
        raise InvalidValue(
            f"A question must have from 2 to {MOST_CHOICES} answers, but {choices} were given."
        )
    return choices


def valid_answers(answers: Integers, choices: int) -> Integers:
    """Return the answers; raise if one is below 0 or not below ``choices``.

    Example:
        >>> import numpy as np
        >>> valid_answers(np.array([0, 1]), 2).tolist()
        [0, 1]
    """
    if answers.size and not 0 <= int(answers.min()) <= int(answers.max()) < choices:
        raise InvalidValue(
            f"Answers must be from 0 to {choices - 1}, but one of them is outside this range."
        )
    return answers


# ------------------------------------------------------------------ odds
# A report supports one or several answers. The estimator of shares needs only two numbers.


@dataclass(frozen=True, slots=True)
class Odds:
    """The probabilities that a report supports the true answer, and another given answer.

    A report supports the answer or the answers that it contains. So the number of reports that
    support an answer has a binomial distribution, for every randomiser.
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
                "Reports must support the true answer with a higher probability than another "
                f"answer, but {self.true} and {self.other} were given."
            )

    def share(self, supported: Fraction) -> Fraction:
        """Return the estimated share of people with an answer.

        ``supported`` is the share of reports that support this answer.

        Guarantee: unbiased; the expectation of ``supported`` is
        ``other + share * (true - other)``.
        """
        return (supported - self.other) / (self.true - self.other)

    def variance(self, share: Fraction = Fraction(0)) -> Fraction:
        """Return the variance of the estimate from one report of a random person.

        ``share`` is the share of people who have the answer. For n reports, divide by n.
        """
        supported = self.other + share * (self.true - self.other)
        return supported * (1 - supported) / (self.true - self.other) ** 2


# ------------------------------------------------------------------ frequency oracles


class Oracle(Protocol):
    """The interface of a frequency oracle: a randomiser of one answer out of several.

    Answers are integers below ``choices``, and reports are rows of integers.

    Guarantee: no report is more than ``ratio`` times as likely under one answer as under
    another.
    """

    @property
    def choices(self) -> int:
        """The number of answers."""
        ...

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of a report's probabilities under two answers."""
        ...

    @property
    def bits(self) -> int:
        """The length of a report in bits."""
        ...

    @property
    def odds(self) -> Odds:
        """The probabilities that an estimator needs."""
        ...

    def randomise(self, answers: Integers, entropy: Entropy) -> Integers:
        """Return a report for each answer; this runs on the respondent's device."""
        ...

    def tally(self, reports: Integers) -> Integers:
        """Return the number of reports that support each answer; the collector runs this."""
        ...


# ------------------------------------------------------------------ estimates of shares

USUAL = Fraction(95, 100)
"""The default confidence of intervals."""


@dataclass(frozen=True, slots=True)
class ShareEstimate:
    """An estimated share, and its confidence interval."""

    value: Fraction
    """The unbiased estimate, which can be below 0 or above 1."""
    interval: tuple[Fraction, Fraction]
    """The confidence interval, within [0, 1]."""


def shares(
    odds: Odds, tally: Sequence[int], reports: int, confidence: Fraction = USUAL
) -> tuple[ShareEstimate, ...]:
    """Return the estimated share of each answer, from the number of reports that support it.

    Guarantee: each interval contains the share among all people with a probability of at least
    ``confidence``, if the respondents are a random sample of them; this holds for any number of
    reports. The interval covers both the noise of the reports and the sampling error, since the
    number of reports that support an answer has a binomial distribution.
    Reference: Clopper, Pearson 1934.

    Example:
        >>> coin = Odds(Fraction(2, 3), Fraction(1, 3))
        >>> [float(share.value) for share in shares(coin, [550, 450], 1000)]
        [0.65, 0.35]
    """
    valid_confidence(confidence)
    if reports < 1:
        raise InvalidValue("Estimating shares needs at least one report.")
    return tuple(_share(odds, told, reports, float(1 - confidence) / 2) for told in tally)


def _share(odds: Odds, told: int, reports: int, mistake: float) -> ShareEstimate:
    least = Fraction(least_probability(told, reports, mistake))
    most = Fraction(greatest_probability(told, reports, mistake))
    low, high = (min(max(odds.share(end), Fraction(0)), Fraction(1)) for end in (least, most))
    return ShareEstimate(odds.share(Fraction(told, reports)), (low, high))


# ------------------------------------------------------------------ mean oracles


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """An estimated mean, and its confidence interval."""

    value: Fraction
    """The unbiased estimate, which can be outside the range of the numbers."""
    interval: tuple[Fraction, Fraction]
    """The confidence interval, within the range of the numbers."""


class MeanOracle(Protocol):
    """The interface of a randomiser of integers from 0 to ``steps``; a report is an integer."""

    @property
    def steps(self) -> int:
        """The largest number; the smallest is 0."""
        ...

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of a report's probabilities under two numbers."""
        ...

    @property
    def variance(self) -> Fraction:
        """The worst-case variance of the estimate from one report, in steps squared."""
        ...

    def randomise(self, numbers: Integers, entropy: Entropy) -> Integers:
        """Return a report for each number; this runs on the respondent's device."""
        ...

    def mean(self, reports: Integers, confidence: Fraction = ...) -> MeanEstimate:
        """Return the estimated mean number; this runs at the collector."""
        ...
