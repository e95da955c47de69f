"""The exponential mechanism: one candidate, the likelier the better its score."""

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
    """The place of one candidate, drawn with weights exp(rate * score): the best are likeliest.

    Candidates and rate are public, and do not depend on the data. ``monotone`` asserts that one
    unit moves all scores the same way, as adding a row does to counts.

    Guarantee: scores that one unit moves by d at most lose pure epsilon 2 * rate * d, and half
    of it where they are monotone, with a bounded range.
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
        """A selection whose weights' logarithms spread by twice what one score moves."""
        return ExponentialSelection(spread(self.rate, sensitivity, monotone=self.monotone))

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The place of the chosen candidate, in an array of one."""
        draw = ChooseOne(self.rate, self.candidates)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """How far the chosen score lies below the best at most."""
        return shortfall(self.rate, Fraction(self.candidates), confidence)


@dataclass(frozen=True, slots=True)
class ChooseOne:
    """The draw of the exponential mechanism."""

    rate: Fraction
    candidates: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The place of one of the scores."""
        check_size(values, self.candidates)
        return np.array([choose(entropy, Exponentials(self.rate, values))], dtype=np.int64)


def spread(rate: Fraction, sensitivity: Sensitivity, *, monotone: bool) -> Fraction:
    """How far one unit spreads the logarithms of the weights at most."""
    moved = rate * sensitivity.in_norm(Norm.LINF).amount
    return moved if monotone else 2 * moved


def shortfall(rate: Fraction, outcomes: Fraction, confidence: Fraction) -> Fraction:
    """The t at which outcomes * exp(-rate * t) = 1 - confidence, rounded up, and at least 0."""
    valid_confidence(confidence)
    return max(Fraction(0), log_bounds(outcomes / (1 - confidence))[1] / rate)


def check_choice(rate: Fraction, candidates: int) -> None:
    """Refuse a rate of 0 or below, and a choice among nothing."""
    if rate <= 0:
        raise InvalidValue(f"A choice by scores needs a rate above 0, and {rate} is not.")
    if candidates < 1:
        raise InvalidValue(f"A choice needs at least 1 candidate, and {candidates} were given.")


def check_size(values: Integers, expected: int) -> None:
    """Refuse a batch of another size than the public one."""
    if values.size != expected:
        raise InvalidValue(f"{expected} values are expected, and {values.size} were given.")
