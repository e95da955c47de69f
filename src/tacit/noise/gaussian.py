"""The discrete Gaussian law, exactly, for any rational variance parameter."""

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np

from tacit.errors import InvalidValue
from tacit.noise.integers import Integers
from tacit.noise.inversion import Inversion
from tacit.noise.weights import TwoSidedBell
from tacit.noise.wide_gaussian import accepted
from tacit.numeric.entropy import Entropy

TABLE_SCALE = 32
"""Below this scale one table holds the whole law.

Above it, a table holds the leading digits of a draw.
"""


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """A sampler with P(y) proportional to exp(-y**2 / (2 * variance)), for every integer y.

    The parameter is the square of the scale, because that is what privacy fixes: rho =
    sensitivity**2 / (2 * variance) has a rational variance where its root is irrational. (The
    law's own variance is a little smaller.)

    Guarantee: the law is exact. How many candidates a large scale rejects is independent of the
    draw that it keeps.
    Reference: Canonne, Kamath, Steinke 2020, definition 1.

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> DiscreteGaussian(Fraction(30**2)).draw(SystemEntropy(b"charge"), 4).shape
        (4,)
    """

    variance: Fraction

    def __post_init__(self) -> None:
        if self.variance <= 0:
            raise InvalidValue(
                f"Gaussian noise needs a variance above 0, and {self.variance} is not."
            )

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """``count`` independent draws."""
        low_bits = (isqrt(int(self.variance)) // TABLE_SCALE).bit_length()
        if low_bits == 0:
            place = Inversion(TwoSidedBell(self.variance)).draw(entropy, count)
            # 0, 1, 2, 3, 4, ... stand for 0, 1, -1, 2, -2, ...
            return (place + 1 >> 1) * np.where(place & 1, 1, -1)
        drawn = np.empty(0, dtype=np.int64)
        while drawn.size < count:
            missing = count - drawn.size
            # about 97 in 100 are accepted: one round is nearly always enough
            more = accepted(
                entropy, self.variance, low_bits, candidates=missing + missing // 20 + 20
            )
            drawn = np.concatenate([drawn, more])
        return drawn[:count]
