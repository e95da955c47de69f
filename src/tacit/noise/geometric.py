"""Geometric draws of any rational scale, a group of binary digits at a time."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import InvalidValue
from tacit.noise.integers import INT64_BITS, Integers
from tacit.noise.inversion import Inversion
from tacit.noise.weights import Decay
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
