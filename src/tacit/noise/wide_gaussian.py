"""Discrete Gaussian draws of a large scale, by rejection from a table and uniform low digits.

Write abs(y) = 2**m * high + low. A candidate has ``high`` from a table of weights exp(-(2**m *
high)**2 / (2 * variance)), ``low`` uniform below 2**m and a fair sign, and is accepted with
probability exp(-x), where x = low * (2**(m+1) * high + low) / (2 * variance); the product of
the two is exp(-y**2 / (2 * variance)). Zero is accepted under one of its two signs.
"""

from fractions import Fraction

import numpy as np

from tacit.noise.clock import TICK_BITS, outlives
from tacit.noise.integers import Integers
from tacit.noise.inversion import Inversion
from tacit.noise.uniform import uniform_bits
from tacit.noise.weights import Bell
from tacit.numeric.entropy import Entropy

HIGH_BITS = 9
"""Bits of ``high``; a draw that needs more is computed in Python integers."""

LONGEST_LOW = 48
"""Bits of ``low`` that 64-bit bounds are made for; beyond, Python integers compute."""


def accepted(entropy: Entropy, variance: Fraction, low_bits: int, candidates: int) -> Integers:
    """The accepted ones of ``candidates`` candidates.

    Independent draws of the discrete Gaussian law.
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
    """Bounds on the moments low * other / (2 * variance), in ticks of the clock."""
    per_product = 2**TICK_BITS / (2 * variance)
    if low.dtype == object:
        least = low * other * per_product.numerator // per_product.denominator
        return least, least + 1
    # three products of at most 62 bits, each from factors cut to their leading bits
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
    """The ``keep`` leading of ``bits`` bits, rounded down and up, and how many were cut off."""
    cut = max(0, bits - keep)
    if cut == 0:
        return least, most, 0
    return least >> cut, (most >> cut) + 1, cut
