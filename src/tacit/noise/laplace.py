"""Exact samplers of the geometric, Bernoulli and discrete Laplace distributions.

All parameters are rational numbers. A geometric draw of a large scale is composed of groups of
binary digits, which are independent of each other, so that each group is drawn from a small
table. The other samplers are built from geometric draws.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidValue
from tacit.noise.integers import INT64_BITS, Integers, UniformBelow
from tacit.noise.inversion import Categorical, Decay, Inversion, LaplaceSign
from tacit.numeric.entropy import Entropy

DIGIT_BITS = 8
"""Number of bits that are drawn from one table of 256 thresholds, which is built quickly."""

TOP_SCALE = 16
"""An upper bound on the scale of the highest bits, so that their table stays small."""


@dataclass(frozen=True, slots=True)
class Geometric:
    """A geometric sampler: P(k) is proportional to exp(-k/scale), for k = 0, 1, 2, ...

    Guarantee: the distribution is exact. If k is written in groups of binary digits, then
    exp(-k/scale) is a product with one factor per group, so the groups are independent. Each
    group is drawn from its own table, and the number of words is known in advance.

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> int(Geometric(Fraction(5)).draw(SystemEntropy(b"charge"), 1000).min())
        0
    """

    scale: Fraction

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise InvalidValue(
                f"A geometric draw needs a scale above 0, but {self.scale} was given."
            )

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """Return ``count`` independent draws."""
        low_bits = self._low_bits()
        top = Inversion(Decay(self.scale / 2**low_bits)).draw(entropy, count)
        if low_bits and (low_bits + int(top.max(initial=0)).bit_length()) > INT64_BITS:
            top = top.astype(object)
        drawn = top << low_bits
        for start in range(0, low_bits, DIGIT_BITS):
            size = 2 ** min(DIGIT_BITS, low_bits - start)
            digit = Inversion(Decay(self.scale / 2**start, size)).draw(entropy, count)
            drawn += digit.astype(drawn.dtype) << start
        return drawn

    def _low_bits(self) -> int:
        """Return the number of low binary digits, which are drawn from tables of their own."""
        return max(0, int(self.scale / TOP_SCALE).bit_length())


# ------------------------------------------------------------------ Bernoulli draws


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """A Bernoulli sampler: 1 with the given rational probability, and 0 otherwise.

    Guarantee: the probability is exact.

    Example:
        >>> from tacit.testing.entropy import ScriptedEntropy
        >>> Bernoulli(Fraction(1, 4)).draw(ScriptedEntropy([2, 13], word_bits=4), 2).tolist()
        [0, 1]
    """

    probability: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise InvalidValue(
                f"A probability must be between 0 and 1, but {self.probability} was given."
            )

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """Return ``count`` independent draws."""
        ones, all_ = self.probability.numerator, self.probability.denominator
        return Inversion(Categorical((all_ - ones, ones))).draw(entropy, count)


def bernoulli_exp(entropy: Entropy, exponents: Integers, denominator: int) -> NDArray[np.bool_]:
    """Return for each x = exponent / denominator >= 0 true with probability exp(-x).

    Guarantee: each probability is exact, and every draw takes the same number of words. A
    geometric draw of scale ``denominator`` is at least k with probability
    exp(-k / denominator), so the result is whether it is at least the exponent.

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> bernoulli_exp(
        ...     SystemEntropy(b"charge"), np.array([0, 10**9]), denominator=7
        ... ).tolist()
        [True, False]
    """
    if exponents.size and int(exponents.min()) < 0:
        raise InvalidValue(
            "A Bernoulli draw with probability exp(-x) needs x >= 0, but an exponent below 0 "
            "was given."
        )
    reached = Geometric(Fraction(denominator)).draw(entropy, exponents.size)
    return np.asarray(reached >= exponents, dtype=np.bool_)


# ------------------------------------------------------------------ discrete Laplace


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """A discrete Laplace sampler: P(y) is proportional to exp(-|y|/scale).

    Guarantee: the distribution is exact. There is no rejection, and the number of words does
    not depend on the draw. The sign is negative, zero or positive with the weights q, 1 - q, q,
    where q = exp(-1/scale). If it is not zero, |y| - 1 is geometric.
    Reference: Ghosh, Roughgarden, Sundararajan 2009, definition 2.3 (the two-sided geometric
    distribution).

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> DiscreteLaplace(Fraction(1, 3)).draw(SystemEntropy(b"charge"), 4).shape
        (4,)
    """

    scale: Fraction

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise InvalidValue(
                f"Laplace noise needs a scale above 0, but {self.scale} was given."
            )

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """Return ``count`` independent draws."""
        sign = Inversion(LaplaceSign(self.scale)).draw(entropy, count) - 1
        return sign * (Geometric(self.scale).draw(entropy, count) + 1)


# ------------------------------------------------------------------ truncated discrete Laplace


@dataclass(frozen=True, slots=True)
class TruncatedDiscreteLaplace:
    """A sampler with P(y) proportional to exp(-abs(y) / scale), for integers abs(y) <= reach.

    Guarantee: the distribution is exact, by rejection. Candidates come from the full discrete
    Laplace distribution if the reach is at least the scale, and otherwise from the uniform
    distribution. In both cases more than 6 in 10 candidates are accepted, and the number of
    rejections is independent of the accepted draw.
    Reference: Devroye 1986, chapter II.3 (rejection); Geng, Ding, Guo, Kumar 2020.

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> noise = TruncatedDiscreteLaplace(Fraction(3), reach=5)
        >>> bool(abs(noise.draw(SystemEntropy(b"charge"), 1000)).max() <= 5)
        True
    """

    scale: Fraction
    reach: int

    def __post_init__(self) -> None:
        if self.scale <= 0 or self.reach < 0:
            raise InvalidValue(
                "Truncated Laplace noise needs a scale above 0 and a reach of at least 0, but "
                f"scale={self.scale}, reach={self.reach} was given."
            )

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """Return ``count`` independent draws."""
        drawn = self._accept_some(entropy, count)
        while drawn.size < count:
            missing = count - drawn.size
            drawn = np.concatenate([drawn, self._accept_some(entropy, missing)])
        return drawn[:count]

    def _accept_some(self, entropy: Entropy, wanted: int) -> Integers:
        """Draw somewhat more candidates than ``wanted``, and return those that are accepted."""
        candidates = wanted + wanted // 8 + 8
        if self.reach >= self.scale:
            full = DiscreteLaplace(self.scale).draw(entropy, candidates)
            return full[np.asarray(abs(full) <= self.reach, dtype=np.bool_)]
        flat = UniformBelow(2 * self.reach + 1).draw(entropy, candidates) - self.reach
        exponents = abs(flat)
        if (self.reach * self.scale.denominator).bit_length() > INT64_BITS:
            exponents = exponents.astype(object)
        kept = bernoulli_exp(entropy, exponents * self.scale.denominator, self.scale.numerator)
        return flat[kept]
