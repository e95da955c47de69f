"""The two-sided Lomax law, rounded to integers, exactly, for any rational scale."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.errors import InvalidValue
from tacit.noise.integers import Integers, packed
from tacit.numeric.entropy import Entropy
from tacit.numeric.exact import Interval, ceil_to, exp_bounds, log_bounds

FACTOR_UNIT = Fraction(1, 10**12)
"""The factor of a smooth sensitivity is rounded up to a multiple of this."""

SPARE_DIGITS = 7
"""Decimal digits beyond those that the revealed bits are worth."""


@dataclass(frozen=True, slots=True)
class RoundedLomax:
    """A sampler of z rounded to the nearest integer, P(abs(z) > t) = (1 + t/scale)**(-tail).

    The scale may be secret, so it is an argument of the draw, and nothing is kept of it.

    Guarantee: the law is exact. abs(z) = scale * (V**(-1/tail) - 1) for a uniform V, of which
    bits are revealed until both ends of where V must lie give the same integer; the first bit
    of all is the sign.
    Reference: Devroye 1986, chapter II.2 (inversion); Lomax 1954.

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> RoundedLomax(Fraction(6)).draw(SystemEntropy(b"charge"), Fraction(5, 2), 4).shape
        (4,)
    """

    tail: Fraction

    def __post_init__(self) -> None:
        if self.tail <= 0:
            raise InvalidValue(f"A Lomax law needs a tail above 0, and {self.tail} is not.")

    def draw(self, entropy: Entropy, scale: Fraction, count: int) -> Integers:
        """``count`` independent draws with this scale."""
        bits = entropy.word_bits - 1
        drawn = []
        for word in entropy.words(count):
            negative, leading = divmod(int(word), 1 << bits)
            size = self._size(entropy, scale, leading, bits)
            drawn.append(-size if negative else size)
        return packed(drawn)

    def _size(self, entropy: Entropy, scale: Fraction, leading: int, bits: int) -> int:
        """The rounded size for a uniform number whose first ``bits`` spell ``leading``."""
        while True:
            if leading:  # all zeros leave the size without an upper bound
                least, most = self._power(leading, bits)
                size = _nearest(scale * (most - 1))
                if _nearest(scale * (least - 1)) == size:
                    return size
            leading = leading << entropy.word_bits | int(entropy.words(1)[0])
            bits += entropy.word_bits

    def _power(self, leading: int, bits: int) -> Interval:
        """Bounds on V**(-1/tail) over leading <= V * 2**bits <= leading + 1."""
        digits = bits // 3 + SPARE_DIGITS
        lower, upper = log_bounds(Fraction(1 << bits, leading), digits)
        # log((leading + 1) / leading) < 1 / leading, and exp(-x) >= 1 - x
        width = (upper - max(Fraction(0), lower - Fraction(1, leading))) / self.tail
        below, above = exp_bounds(upper / self.tail, digits)
        return max(Fraction(1), below * (1 - width)), above


@lru_cache(maxsize=256)
def lomax_factor(epsilon: Fraction, smoothing: Fraction) -> Fraction:
    """The scale of Lomax noise for a smooth sensitivity of 1, rounded up.

    Guarantee: with tail = epsilon / smoothing, scales of this factor times smooth sensitivities
    that differ by a factor of exp(smoothing) at most, and values as far apart as the lesser of
    the two at most, each density is at most exp(epsilon) times the other.
    Reference: ``docs/privacy/mechanisms/lomax.md`` proves it; the family is that of Hladík,
    Tětek 2025.

    Example:
        >>> round(float(lomax_factor(Fraction(1), Fraction(1, 10))), 3)
        10.613
    """
    power = 1 + epsilon / smoothing
    alike = 1 / (exp_bounds(epsilon / power)[0] - 1)
    apart = exp_bounds(-smoothing)[1] / (exp_bounds((epsilon - smoothing) / power)[0] - 1)
    return ceil_to(max(alike, apart), FACTOR_UNIT)


def _nearest(size: Fraction) -> int:
    return int(size + Fraction(1, 2))
