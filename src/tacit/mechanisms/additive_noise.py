"""The Laplace and the Gaussian mechanism on integers.

Both mechanisms add discrete noise to a batch of integers. `AddNoise` computes the sum without
overflow. Each mechanism also computes its margin of error, from exact bounds on the tail of
its noise distribution.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist
from typing import Protocol

import numpy as np

from tacit.core import GaussianNoise, LaplaceNoiseV2, Norm, Secret, Sensitivity
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.mechanism import valid_confidence
from tacit.noise import INT64_BITS, Bell, DiscreteGaussian, DiscreteLaplace, Integers, narrow
from tacit.numeric import exp_bounds, log_bounds, sqrt_bounds
from tacit.numeric.entropy import Entropy

BLOCK = 2**16
"""Number of values in a block. A block fits in the cache of a core, however long the batch."""

INT64_ROOM = 2**INT64_BITS
"""Two integers below this bound in magnitude have a sum that fits in 64 bits."""


class Sampler(Protocol):
    """A distribution of integer noise, such as those of `tacit.noise`."""

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """Return ``count`` independent draws."""
        ...


@dataclass(frozen=True, slots=True)
class AddNoise:
    """The random step of an additive mechanism: each value plus its own noise.

    Guarantee: the sum is exact. Where it may not fit in 64 bits, Python integers are used.

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
        """Return the values with noise."""
        if values.ndim != 1 or values.dtype.kind not in "iuO":
            raise InternalError("Noise can be added only to a one-dimensional integer array.")
        starts = range(0, max(values.size, 1), BLOCK)
        blocks = [self._noisy(values[start : start + BLOCK], entropy) for start in starts]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def _noisy(self, values: Integers, entropy: Entropy) -> Integers:
        noise = self.sampler.draw(entropy, values.size)
        if _fits(values) and _fits(noise):
            return values.astype(np.int64) + noise
        return narrow(values.astype(object) + noise.astype(object))


def _fits(values: Integers) -> bool:
    """Return whether every value is small enough for one addition in 64 bits."""
    if values.dtype == object:
        return False
    if values.dtype.kind == "u":
        return bool(np.all(values < INT64_ROOM))
    return bool(np.all((values < INT64_ROOM) & (values > -INT64_ROOM)))


# ------------------------------------------------------------------ Laplace mechanism


@dataclass(frozen=True, slots=True)
class Laplace:
    """The Laplace mechanism: independent discrete Laplace noise on each integer.

    Guarantee: the release of integers of L1 sensitivity d has pure epsilon d / scale: between
    neighbouring datasets each probability changes by a factor of at most exp(d / scale).
    Reference: Dwork, McSherry, Nissim, Smith 2006, proposition 1; on integers Ghosh,
    Roughgarden, Sundararajan 2009.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> one = Sensitivity.of(1, Norm.L1, Rule("a person is in one group, once"))
        >>> Laplace(Fraction(10)).event(one)
        LaplaceNoiseV2(sensitivity=Fraction(1, 1), scale=Fraction(10, 1))
        >>> Laplace(Fraction(10)).error(Fraction("0.95"))
        Fraction(30, 1)
    """

    scale: Fraction

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise InvalidValue(
                f"Laplace noise needs a scale above 0, but {self.scale} was given."
            )

    def event(self, sensitivity: Sensitivity) -> LaplaceNoiseV2:
        """Return the event of Laplace noise with this scale, for the L1 sensitivity."""
        return LaplaceNoiseV2(sensitivity.in_norm(Norm.L1).amount, self.scale)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Return the integers with noise."""
        draw = AddNoise(DiscreteLaplace(self.scale))
        return gateway.release(secret, sensitivity.in_norm(Norm.L1), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the least integer t with P(abs(noise) <= t) >= confidence.

        It follows from P(abs(noise) > t) = 2 * q**(t + 1) / (1 + q), q = exp(-1 / scale).
        """
        valid_confidence(confidence)
        ratio = exp_bounds(-1 / self.scale)[0]
        beyond = (1 - confidence) * (1 + ratio) / 2
        # solve q**(t + 1) <= beyond for t, with -scale * log(beyond) rounded up
        return Fraction(max(0, (-self.scale * log_bounds(beyond)[0]).__ceil__() - 1))


# ------------------------------------------------------------------ Gaussian mechanism

SUMMED_BELOW = 10**6
"""Variance below which the error is computed by summing the probabilities of the integers.

For larger variances, the continuous normal distribution and one extra step are close enough.
"""

SPARE_BITS = 64
"""Bits of the sum in addition to the bits that the confidence itself needs."""

LEAST_TAIL = Fraction(1, 10**300)
"""Tail probability below which floats underflow, and the bound exp(-x**2 / 2) is used."""

FLOAT_MARGIN = Fraction(1, 10**12)
"""Bound on the relative floating-point error of a normal quantile."""


@dataclass(frozen=True, slots=True)
class Gaussian:
    """The Gaussian mechanism: independent discrete Gaussian noise on each integer.

    Guarantee: the release of integers whose squared L2 sensitivity is d2 satisfies zCDP with
    rho = d2 / (2 * variance). At a given epsilon, the delta of the discrete distribution can be
    larger than the delta of the continuous one, so the continuous formula is not used.
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
                f"Gaussian noise needs a variance above 0, but {self.variance} was given."
            )

    def event(self, sensitivity: Sensitivity) -> GaussianNoise:
        """Return the event of Gaussian noise with this variance, for the L2 sensitivity."""
        return GaussianNoise(sensitivity.in_norm(Norm.L2).square, self.variance)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Return the integers with noise."""
        draw = AddNoise(DiscreteGaussian(self.variance))
        return gateway.release(secret, sensitivity.in_norm(Norm.L2), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the least integer t with P(abs(noise) <= t) >= confidence.

        For a variance of a million or more, the result may be one larger, and never smaller.
        """
        valid_confidence(confidence)
        if self.variance < SUMMED_BELOW:
            return _error_by_summing(self.variance, confidence)
        # P(noise > t) <= P(normal >= t): rounding up covers the effect of discreteness
        quantile = _normal_quantile(1 - confidence) * (1 + FLOAT_MARGIN)
        return Fraction((quantile * sqrt_bounds(self.variance)[1]).__ceil__())


@lru_cache(maxsize=256)
def _error_by_summing(variance: Fraction, confidence: Fraction) -> Fraction:
    """Return the least t by summing lower bounds on the weights up to the confidence."""
    precision = SPARE_BITS + int(1 / (1 - confidence)).bit_length()
    side = Bell(variance).weights(precision)
    whole = 2 * (sum(side.upper) + side.rest) - side.upper[0]
    within = accumulate(side.lower, lambda sum_, weight: sum_ + 2 * weight)
    enough = (size for size, sum_ in enumerate(within) if sum_ >= confidence * whole)
    return Fraction(next(enough))


def _normal_quantile(tail: Fraction) -> Fraction:
    """Return a bound that abs(standard normal) exceeds with probability at most ``tail``."""
    if tail < LEAST_TAIL:
        return sqrt_bounds(-2 * log_bounds(tail)[0])[1]
    return Fraction(abs(NormalDist().inv_cdf(float(tail / 2))))
