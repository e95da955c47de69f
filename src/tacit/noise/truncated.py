"""The discrete Laplace law cut to a finite reach, exactly, for any rational scale."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.errors import InvalidValue
from tacit.noise.bernoulli import bernoulli_exp
from tacit.noise.integers import INT64_BITS, Integers
from tacit.noise.laplace import DiscreteLaplace
from tacit.noise.uniform import UniformBelow
from tacit.numeric.entropy import Entropy


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
