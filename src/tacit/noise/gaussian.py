"""An exact sampler of the discrete Gaussian distribution, for any rational variance.

A small scale is drawn from one table (`tacit.noise.inversion`). A large scale is drawn by
rejection: a candidate must be accepted with probability exp(-x) for a rational x. The coin for
this is an exponential clock. An exponential variable E with mean 1 exceeds x with probability
exp(-x). The value of E in ticks of two to the ``-TICK_BITS`` is a geometric draw, and each
further binary digit of E is independent of the digits before. So E is drawn only as precisely
as the comparison with x needs, and the comparison is exact.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidValue
from tacit.noise.integers import Integers, uniform_bits
from tacit.noise.inversion import Bell, Decay, Inversion, TruncatedBell, TwoSidedBell
from tacit.noise.laplace import DIGIT_BITS, Geometric
from tacit.numeric.entropy import Entropy

TICK_BITS = 40
"""Number of binary digits of an exponential variable (a clock) that are drawn first.

A comparison needs more digits with a probability of about two to the ``-TICK_BITS``.
"""


def outlives(
    entropy: Entropy, least: Integers, most: Integers, moment: Callable[[int], Fraction]
) -> NDArray[np.bool_]:
    """Return, for each threshold, whether a new exponential variable exceeds it.

    An exponential variable with mean 1 is called a clock here, and its threshold a moment.
    The moments lie between ``least`` and ``most`` ticks. ``moment(i)`` returns the exact moment
    of the i-th clock, and is called only if the first digits do not decide.

    Guarantee: true with probability exactly exp(-moment), independently for each clock.
    """
    ticks = Geometric(Fraction(2**TICK_BITS)).draw(entropy, least.size)
    alive: NDArray[np.bool_] = np.asarray(ticks >= most, dtype=np.bool_)
    for position in np.flatnonzero(~alive & np.asarray(ticks >= least, dtype=np.bool_)):
        alive[position] = _read_on(entropy, int(ticks[position]), moment(int(position)))
    return alive


def _read_on(entropy: Entropy, ticks: int, moment: Fraction) -> bool:
    """Draw more digits of an exponential variable; return whether it exceeds ``moment``."""
    bits = TICK_BITS
    while ticks <= moment * 2**bits < ticks + 1:
        bits += DIGIT_BITS
        digit = Inversion(Decay(Fraction(2**bits), 2**DIGIT_BITS)).draw(entropy, 1)
        ticks = ticks << DIGIT_BITS | int(digit[0])
    return bool(ticks > moment * 2**bits)


# ------------------------------------------------------------------ rejection for a large scale
# Write abs(y) = 2**m * high + low. A candidate has ``high`` from a table of weights
# exp(-(2**m * high)**2 / (2 * variance)), a uniform ``low`` below 2**m, and a fair sign. It is
# accepted with probability exp(-x), where x = low * (2**(m+1) * high + low) / (2 * variance).
# The product of the two is exp(-y**2 / (2 * variance)). Zero has two signs, and only one of
# them is accepted.

HIGH_BITS = 9
"""Number of bits of ``high``, the upper part of a draw, for which 64-bit integers suffice."""

LONGEST_LOW = 48
"""Number of bits of ``low``, the lower part of a draw, for which 64-bit integers suffice."""


def accepted_candidates(
    entropy: Entropy, variance: Fraction, low_bits: int, candidates: int
) -> Integers:
    """Draw ``candidates`` candidates and return those that are accepted.

    The results are independent draws of the discrete Gaussian distribution.
    """
    high = Inversion(Bell(variance / 4**low_bits)).draw(entropy, candidates)
    bits = uniform_bits(entropy, candidates, low_bits + 1)
    low, negative = bits >> 1, (bits & 1).astype(np.bool_)
    if low_bits > LONGEST_LOW or int(high.max()) >= 2**HIGH_BITS:
        high, low = high.astype(object), low.astype(object)
    size = (high << low_bits) + low
    other = size + (high << low_bits)

    def moment(position: int) -> Fraction:
        return int(low[position]) * int(other[position]) / (2 * variance)

    least, most = _ticks(low, other, variance, low_bits)
    kept = outlives(entropy, least, most, moment) & ~(negative & (size == 0).astype(np.bool_))
    drawn: Integers = np.where(negative, -size, size)[kept]
    return drawn


def _ticks(
    low: Integers, other: Integers, variance: Fraction, low_bits: int
) -> tuple[Integers, Integers]:
    """Return bounds on low * other / (2 * variance), in units of two to the -TICK_BITS."""
    per_product = 2**TICK_BITS / (2 * variance)
    if low.dtype == object:
        least = low * other * per_product.numerator // per_product.denominator
        return least, least + 1
    # three products of at most 62 bits, whose factors are truncated to their leading bits
    low_least, low_most, low_cut = _leading(low, low, low_bits, keep=28)
    other_bits = low_bits + HIGH_BITS + 1
    other_least, other_most, other_cut = _leading(other, other, other_bits, keep=33)
    product_bits = low_bits - low_cut + other_bits - other_cut + 1
    least, most, cut = _leading(
        low_least * other_least, low_most * other_most, product_bits, keep=31
    )
    factor = per_product * 2 ** (low_cut + other_cut + cut)
    scale = 30 - int(factor).bit_length()
    whole = int(factor * 2**scale)
    return least * whole >> scale, (most * (whole + 1) >> scale) + 1


def _leading(
    least: Integers, most: Integers, bits: int, keep: int
) -> tuple[Integers, Integers, int]:
    """Return the ``keep`` leading bits, rounded down and up, and the number of bits removed."""
    cut = max(0, bits - keep)
    if cut == 0:
        return least, most, 0
    return least >> cut, (most >> cut) + 1, cut


# ------------------------------------------------------------------ the sampler

TABLE_SCALE = 32
"""The scale below which one table covers the whole distribution.

Above it, a table covers the leading digits of a draw.
"""


LONGEST_REACH = 10**5
"""The largest reach of a truncated distribution, whose table has two entries for each step."""


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """A discrete Gaussian sampler: P(y) is proportional to exp(-y**2 / (2 * variance)).

    The parameter is the square of the scale, because privacy determines it: rho =
    sensitivity**2 / (2 * variance). For a rational rho it is rational, while its square root
    can be irrational. (The variance of the distribution itself is slightly smaller.)

    Guarantee: the distribution is exact. The number of rejected candidates is independent of
    the accepted draws.
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
                f"Gaussian noise needs a variance above 0, but {self.variance} was given."
            )

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """Return ``count`` independent draws."""
        low_bits = (isqrt(int(self.variance)) // TABLE_SCALE).bit_length()
        if low_bits == 0:
            place = Inversion(TwoSidedBell(self.variance)).draw(entropy, count)
            # the outcomes 0, 1, 2, 3, 4, ... stand for 0, 1, -1, 2, -2, ...
            return (place + 1 >> 1) * np.where(place & 1, 1, -1)
        drawn = np.empty(0, dtype=np.int64)
        while drawn.size < count:
            missing = count - drawn.size
            # about 97 in 100 candidates are accepted, so one round is nearly always enough
            more = accepted_candidates(
                entropy, self.variance, low_bits, candidates=missing + missing // 20 + 20
            )
            drawn = np.concatenate([drawn, more])
        return drawn[:count]


@dataclass(frozen=True, slots=True)
class TruncatedDiscreteGaussian:
    """A discrete Gaussian sampler on the integers with abs(y) <= reach.

    P(y) is proportional to exp(-y**2 / (2 * variance)) there. Every draw comes from one table
    with an entry for each outcome, so that the reach must be moderate.

    Guarantee: the distribution is exact, and depends on public parameters only.

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> drawn = TruncatedDiscreteGaussian(Fraction(9), 4).draw(SystemEntropy(b"time"), 500)
        >>> sorted(set(drawn.tolist()))
        [-4, -3, -2, -1, 0, 1, 2, 3, 4]
    """

    variance: Fraction
    reach: int

    def __post_init__(self) -> None:
        if self.variance <= 0 or not 0 <= self.reach <= LONGEST_REACH:
            raise InvalidValue(
                "Truncated Gaussian noise needs a variance above 0 and a reach from 0 to "
                f"{LONGEST_REACH}, but {self.variance} and {self.reach} were given."
            )

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """Return ``count`` independent draws."""
        return Inversion(TruncatedBell(self.variance, self.reach)).draw(entropy, count) - (
            self.reach
        )
