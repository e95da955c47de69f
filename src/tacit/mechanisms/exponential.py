"""The exponential mechanism: select one candidate, with higher probability for higher scores.

The file also holds helpers that other selection mechanisms share: the range of the weights'
logarithms (`spread`), the error bound (`shortfall`) and the checks of public parameters.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core import ExponentialSelection, Norm, Secret, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.mechanism import valid_confidence
from tacit.noise import Exponentials, Integers, choose
from tacit.numeric import log_bounds
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class Exponential:
    """The exponential mechanism: the index of a candidate, with weights exp(rate * score).

    Candidates and rate are public, and do not depend on the data. ``monotone`` asserts that one
    unit changes all scores in the same direction, as a new row does with counts.

    Guarantee: if one unit changes each score by at most d, the selection has pure epsilon
    2 * rate * d, and half of it for monotone scores; its privacy loss has a bounded range.
    Reference: McSherry, Talwar 2007, theorem 6; Durfee, Rogers 2019, section 4.2 (the range).

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> one = Sensitivity.of(1, Norm.LINF, Rule("a row changes each score by at most 1"))
        >>> Exponential(Fraction("0.25"), candidates=10).event(one)
        ExponentialSelection(epsilon=Fraction(1, 2))
        >>> round(
        ...     float(Exponential(Fraction("0.25"), candidates=10).error(Fraction("0.95"))), 9
        ... )
        21.193269466
    """

    rate: Fraction
    candidates: int
    monotone: bool = False

    def __post_init__(self) -> None:
        check_choice(self.rate, self.candidates)

    def event(self, sensitivity: Sensitivity) -> ExponentialSelection:
        """Return the event of a selection, whose epsilon is the range of the log weights."""
        return ExponentialSelection(spread(self.rate, sensitivity, monotone=self.monotone))

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Return the index of the selected candidate, in an array of length one."""
        draw = ChooseOne(self.rate, self.candidates)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the margin of error: the distance of the selected score below the best."""
        return shortfall(self.rate, Fraction(self.candidates), confidence)


@dataclass(frozen=True, slots=True)
class ChooseOne:
    """The random step of the exponential mechanism."""

    rate: Fraction
    candidates: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return the index of one score, in an array of length one."""
        check_size(values, self.candidates)
        return np.array([choose(entropy, Exponentials(self.rate, values))], dtype=np.int64)


def spread(rate: Fraction, sensitivity: Sensitivity, *, monotone: bool) -> Fraction:
    """Return the largest range by which one unit changes the logarithms of the weights."""
    moved = rate * sensitivity.in_norm(Norm.LINF).amount
    return moved if monotone else 2 * moved


def shortfall(rate: Fraction, outcomes: Fraction, confidence: Fraction) -> Fraction:
    """Return the t >= 0 with outcomes * exp(-rate * t) = 1 - confidence, rounded up."""
    valid_confidence(confidence)
    return max(Fraction(0), log_bounds(outcomes / (1 - confidence))[1] / rate)


def check_choice(rate: Fraction, candidates: int) -> None:
    """Check that the rate is above 0 and that there is at least one candidate."""
    if rate <= 0:
        raise InvalidValue(f"A selection by scores needs a rate above 0, but {rate} was given.")
    if candidates < 1:
        raise InvalidValue(
            f"A selection needs at least 1 candidate, but {candidates} were given."
        )


def check_size(values: Integers, expected: int) -> None:
    """Check that a batch has the public size ``expected``."""
    if values.size != expected:
        raise InvalidValue(
            f"This mechanism needs a batch of {expected} values, but {values.size} were given."
        )
