"""Geometric draws of any rational scale, a group of binary digits at a time."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidValue
from tacit.noise.integers import INT64_BITS, Integers, UniformBelow
from tacit.noise.inversion import Categorical, Decay, Inversion, LaplaceSign
from tacit.numeric.entropy import Entropy

DIGIT_BITS = 8
"""Bits of a low digit: tables of 256 thresholds, built in under a millisecond."""

TOP_SCALE = 16
"""The scale of the top digit stays below this, and its table below a thousand thresholds."""


@dataclass(frozen=True, slots=True)
class Geometric:
    """A sampler with P(k) proportional to exp(-k/scale), for k = 0, 1, 2, ...

    Guarantee: the law is exact. Writing k in groups of binary digits, exp(-k/scale) is a
    product of one factor a group, so the groups are independent: each is drawn from its own
    table, and the number of words is known beforehand.

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> int(Geometric(Fraction(5)).draw(SystemEntropy(b"charge"), 1000).min())
        0
    """

    scale: Fraction

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise InvalidValue(
                f"A geometric law needs a scale above 0, and {self.scale} is not."
            )

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """``count`` independent draws."""
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
        """How many binary digits lie below the top one."""
        return max(0, int(self.scale / TOP_SCALE).bit_length())


# ------------------------------------------------------------------ bernoulli
# Coins: with a rational probability, and with probability exp(-x) for a rational x.


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """A sampler of 1 with the given probability, and of 0 otherwise.

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
                f"A probability lies in [0, 1], and {self.probability} does not."
            )

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """``count`` independent draws."""
        ones, all_ = self.probability.numerator, self.probability.denominator
        return Inversion(Categorical((all_ - ones, ones))).draw(entropy, count)


def bernoulli_exp(entropy: Entropy, exponents: Integers, denominator: int) -> NDArray[np.bool_]:
    """True with probability exp(-x), for each x = exponent / denominator of at least 0.

    Guarantee: each probability is exact, and all coins take the same words. A geometric draw of
    scale ``denominator`` reaches k with probability exp(-k / denominator), so the coin is
    whether it reaches the exponent.

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> bernoulli_exp(
        ...     SystemEntropy(b"charge"), np.array([0, 10**9]), denominator=7
        ... ).tolist()
        [True, False]
    """
    if exponents.size and int(exponents.min()) < 0:
        raise InvalidValue("A coin exp(-x) needs x of at least 0, and one below 0 was given.")
    reached = Geometric(Fraction(denominator)).draw(entropy, exponents.size)
    return np.asarray(reached >= exponents, dtype=np.bool_)


# ------------------------------------------------------------------ laplace
# The discrete Laplace law, exactly, for any rational scale.


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """A sampler with P(y) proportional to exp(-|y|/scale), for every integer y.

    Guarantee: the law is exact; there is no rejection, and how many words a draw takes does not
    depend on it. The sign is negative, zero or positive with weights q, 1 - q, q, q =
    exp(-1/scale); given that it is not zero, |y| - 1 is geometric.
    Reference: Ghosh, Roughgarden, Sundararajan 2009, definition 2.3 (the two-sided geometric
    law).

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> DiscreteLaplace(Fraction(1, 3)).draw(SystemEntropy(b"charge"), 4).shape
        (4,)
    """

    scale: Fraction

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise InvalidValue(f"Laplace noise needs a scale above 0, and {self.scale} is not.")

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """``count`` independent draws."""
        sign = Inversion(LaplaceSign(self.scale)).draw(entropy, count) - 1
        return sign * (Geometric(self.scale).draw(entropy, count) + 1)


# ------------------------------------------------------------------ truncated
# The discrete Laplace law cut to a finite reach, exactly, for any rational scale.


@dataclass(frozen=True, slots=True)
class TruncatedDiscreteLaplace:
    """A sampler with P(y) proportional to exp(-abs(y) / scale), for integers abs(y) <= reach.

    Guarantee: the law is exact, by rejection: from the uncut law where the reach is at least
    the scale, else from the uniform law. Either way more than 6 in 10 candidates are kept, and
    how many are rejected says nothing of the one kept.
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
                "Truncated Laplace noise needs a scale above 0 and a reach of at least 0, and "
                f"scale={self.scale}, reach={self.reach} was given."
            )

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """``count`` independent draws."""
        drawn = self._accepted(entropy, count)
        while drawn.size < count:
            missing = count - drawn.size
            drawn = np.concatenate([drawn, self._accepted(entropy, missing)])
        return drawn[:count]

    def _accepted(self, entropy: Entropy, wanted: int) -> Integers:
        """The accepted ones of some more candidates than are wanted."""
        candidates = wanted + wanted // 8 + 8
        if self.reach >= self.scale:
            uncut = DiscreteLaplace(self.scale).draw(entropy, candidates)
            return uncut[np.asarray(abs(uncut) <= self.reach, dtype=np.bool_)]
        flat = UniformBelow(2 * self.reach + 1).draw(entropy, candidates) - self.reach
        exponents = abs(flat)
        if (self.reach * self.scale.denominator).bit_length() > INT64_BITS:
            exponents = exponents.astype(object)
        kept = bernoulli_exp(entropy, exponents * self.scale.denominator, self.scale.numerator)
        return flat[kept]
