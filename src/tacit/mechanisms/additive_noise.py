"""Adding integer noise to integers, without overflow."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist
from typing import Protocol

import numpy as np

from tacit.core import GaussianNoise, LaplaceNoise, Norm, Secret, Sensitivity
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.mechanism import valid_confidence
from tacit.noise import INT64_BITS, Bell, DiscreteGaussian, DiscreteLaplace, Integers, narrowed
from tacit.numeric import exp_bounds, log_bounds, sqrt_bounds
from tacit.numeric.entropy import Entropy

BLOCK = 2**16
"""Values worked on at a time: few enough for a core's cache, however long the batch."""

INT64_ROOM = 2**INT64_BITS
"""Two integers below this in magnitude have a sum that 64 bits hold."""


class Sampler(Protocol):
    """A law of integer noise, such as those of `tacit.noise`."""

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """``count`` independent draws."""
        ...


@dataclass(frozen=True, slots=True)
class AddNoise:
    """The draw of an additive mechanism: each value plus its own noise.

    Guarantee: the sum is that of the integers. Where it could pass 64 bits, Python integers
    hold it.

    Example:
        >>> from fractions import Fraction
        >>> from tacit.noise.laplace import DiscreteLaplace
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> noise = AddNoise(DiscreteLaplace(Fraction(10)))
        >>> noise(np.array([40, 2]), SystemEntropy(charge=b"the hash of a charge")).shape
        (2,)
    """

    sampler: Sampler

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The values with noise."""
        if values.ndim != 1 or values.dtype.kind not in "iuO":
            raise InternalError("Noise is added to one row of integers, and to nothing else.")
        starts = range(0, max(values.size, 1), BLOCK)
        blocks = [self._noisy(values[start : start + BLOCK], entropy) for start in starts]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def _noisy(self, values: Integers, entropy: Entropy) -> Integers:
        noise = self.sampler.draw(entropy, values.size)
        if _fits(values) and _fits(noise):
            return values.astype(np.int64) + noise
        return narrowed(values.astype(object) + noise.astype(object))


def _fits(values: Integers) -> bool:
    """Whether every value leaves room for one addition in 64 bits."""
    if values.dtype == object:
        return False
    if values.dtype.kind == "u":
        return bool(np.all(values < INT64_ROOM))
    return bool(np.all((values < INT64_ROOM) & (values > -INT64_ROOM)))


# ------------------------------------------------------------------ laplace
# The Laplace mechanism on integers: one number, or many.


@dataclass(frozen=True, slots=True)
class Laplace:
    """Integers, each with its own discrete Laplace noise.

    Guarantee: integers of L1 sensitivity d, released together and once, lose pure epsilon d /
    scale: between neighbours each probability changes by a factor of exp(d / scale) at most.
    Reference: Dwork, McSherry, Nissim, Smith 2006, proposition 1; on integers Ghosh,
    Roughgarden, Sundararajan 2009.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> one = Sensitivity.of(1, Norm.L1, Rule("a person is in one group, once"))
        >>> Laplace(Fraction(10)).event(one)
        LaplaceNoise(sensitivity=Fraction(1, 1), scale=Fraction(10, 1))
        >>> Laplace(Fraction(10)).error(Fraction("0.95"))
        Fraction(30, 1)
    """

    scale: Fraction

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise InvalidValue(f"Laplace noise needs a scale above 0, and {self.scale} is not.")

    def event(self, sensitivity: Sensitivity) -> LaplaceNoise:
        """Laplace noise of this scale, for that L1 sensitivity."""
        return LaplaceNoise(sensitivity.in_norm(Norm.L1).amount, self.scale)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The integers with noise."""
        draw = AddNoise(DiscreteLaplace(self.scale))
        return gateway.release(secret, sensitivity.in_norm(Norm.L1), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """The least integer t with P(abs(noise) <= t) >= confidence.

        P(abs(noise) > t) = 2 * q**(t + 1) / (1 + q), q = exp(-1 / scale).
        """
        valid_confidence(confidence)
        ratio = exp_bounds(-1 / self.scale)[0]
        beyond = (1 - confidence) * (1 + ratio) / 2
        # q**(t + 1) <= beyond, where -scale * log(beyond) is rounded up
        return Fraction(max(0, (-self.scale * log_bounds(beyond)[0]).__ceil__() - 1))


# ------------------------------------------------------------------ gaussian
# The Gaussian mechanism on integers: one number, or many.

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
        >>> from tacit.core.sensitivity import Rule
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
