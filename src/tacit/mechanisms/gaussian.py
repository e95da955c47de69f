"""The Gaussian mechanism on integers: one number, or many."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist

from tacit.core.noise_event import GaussianNoise
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.add_noise import AddNoise
from tacit.mechanisms.confidence import valid_confidence
from tacit.mechanisms.gateway import Gateway
from tacit.noise.gaussian import DiscreteGaussian
from tacit.noise.integers import Integers
from tacit.noise.weights import Bell
from tacit.numeric.exact import log_bounds, sqrt_bounds

SUMMED_BELOW = 10**6
"""Variances below this have their probabilities summed; above, a step is next to nothing."""

SPARE_BITS = 64
"""Bits of the sum beyond those that the confidence itself needs."""

LEAST_TAIL = Fraction(1, 10**300)
"""Tails below this leave the floats, and are bounded by exp(-x**2 / 2)."""

FLOAT_MARGIN = Fraction(1, 10**12)
"""More than the normal quantile's floats can be wrong by, as a part of it."""


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Integers, each with its own discrete Gaussian noise.

    Guarantee: integers whose L2 sensitivity has the square d2, released together and once, lose
    d2 / (2 * variance) in zCDP. At a given epsilon the discrete law's delta can pass that of
    the continuous one, whose formula is therefore not claimed.
    Reference: Canonne, Kamath, Steinke 2020, theorem 14; proposition 25 for the error.

    Example:
        >>> from tacit.core.proof import Rule
        >>> one = Sensitivity.of(1, Norm.L2, Rule("a person is in one group, once"))
        >>> Gaussian(Fraction(100)).event(one)
        GaussianNoise(sensitivity_square=Fraction(1, 1), variance=Fraction(100, 1))
        >>> Gaussian(Fraction(100)).error(Fraction("0.95"))
        Fraction(20, 1)
    """

    variance: Fraction

    def __post_init__(self) -> None:
        if self.variance <= 0:
            raise InvalidValue(
                f"Gaussian noise needs a variance above 0, and {self.variance} is not."
            )

    def event(self, sensitivity: Sensitivity) -> GaussianNoise:
        """Gaussian noise of this variance, for that L2 sensitivity."""
        return GaussianNoise(sensitivity.in_norm(Norm.L2).square, self.variance)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The integers with noise."""
        draw = AddNoise(DiscreteGaussian(self.variance))
        return gateway.release(secret, sensitivity.in_norm(Norm.L2), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """The least integer t with P(abs(noise) <= t) >= confidence.

        From a variance of a million on it may be one more, and never less.
        """
        valid_confidence(confidence)
        if self.variance < SUMMED_BELOW:
            return _summed(self.variance, confidence)
        # P(noise > t) <= P(normal >= t): one step covers what discreteness adds
        quantile = _normal_quantile(1 - confidence) * (1 + FLOAT_MARGIN)
        return Fraction((quantile * sqrt_bounds(self.variance)[1]).__ceil__())


@lru_cache(maxsize=256)
def _summed(variance: Fraction, confidence: Fraction) -> Fraction:
    """By adding lower bounds on the weights until they are enough of the whole."""
    precision = SPARE_BITS + int(1 / (1 - confidence)).bit_length()
    side = Bell(variance).weights(precision)
    whole = 2 * (sum(side.upper) + side.rest) - side.upper[0]
    within = accumulate(side.lower, lambda sum_, weight: sum_ + 2 * weight)
    enough = (size for size, sum_ in enumerate(within) if sum_ >= confidence * whole)
    return Fraction(next(enough))


def _normal_quantile(tail: Fraction) -> Fraction:
    """What the size of a standard normal passes with at most the probability ``tail``."""
    if tail < LEAST_TAIL:
        return sqrt_bounds(-2 * log_bounds(tail)[0])[1]
    return Fraction(abs(NormalDist().inv_cdf(float(tail / 2))))
