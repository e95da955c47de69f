"""The estimator: from how many reports speak for each answer to shares with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import InvalidValue
from tacit.local.odds import Odds
from tacit.mechanisms.confidence import valid_confidence
from tacit.numeric.clopper_pearson import greatest_probability, least_probability

USUAL = Fraction(95, 100)
"""How sure intervals are, unless somebody says otherwise."""


@dataclass(frozen=True, slots=True)
class Share:
    """An estimated share, and the interval that holds the true one at its confidence."""

    value: Fraction
    """Free of bias; it may lie below 0 or above 1."""
    interval: tuple[Fraction, Fraction]
    """Within [0, 1]."""


def shares(
    odds: Odds, tally: Sequence[int], reports: int, confidence: Fraction = USUAL
) -> tuple[Share, ...]:
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


def _share(odds: Odds, told: int, reports: int, mistake: float) -> Share:
    least = Fraction(least_probability(told, reports, mistake))
    most = Fraction(greatest_probability(told, reports, mistake))
    low, high = (min(max(odds.share(end), Fraction(0)), Fraction(1)) for end in (least, most))
    return Share(odds.share(Fraction(told, reports)), (low, high))
