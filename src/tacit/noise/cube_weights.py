"""The law of the size of the cube that L-infinity noise lies in, as its weights."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from math import ceil, sqrt

from tacit.noise.law import Weights
from tacit.numeric.exact import exp_bounds

Bound = tuple[int, int]
"""A lower and an upper bound on one weight."""

GUARD_BITS = 32
"""Bits that the rounding of a long chain of products may use up, without a power's own."""

NEGLIGIBLE = 110
"""A table ends where its weights are below exp(-110) of the greatest: 158 bits."""


@dataclass(frozen=True, slots=True)
class CubeRadius:
    """Outcome R with weight (2R + 1)**dimensions * exp(-R / scale), for all R from 0 up.

    The weights rise to R near dimensions * scale and then fall. They are listed as parts of the
    greatest, by products of ratios that do not pass 1, on both sides of it.
    """

    scale: Fraction
    dimensions: int

    def weights(self, precision: int) -> Weights:
        """Bounds on the weights; those too small for the precision are bounded together."""
        bits = precision + GUARD_BITS + self.dimensions.bit_length()
        one = 1 << bits
        peak = max(0, ceil(self.dimensions * self.scale) - 1)
        listed = [(one, one)]
        for ratio in self._ratios(range(peak, 0, -1), -1, bits):
            listed.append(_times(listed[-1], ratio, bits))
            if listed[-1] == (0, 1):  # and so are all below, without counting
                break
        listed += [(0, 1)] * (peak + 1 - len(listed))
        listed.reverse()
        ratios = self._ratios(count(peak), 1, bits)
        ratio = next(ratios)
        while (following := _times(listed[-1], ratio, bits))[0]:
            listed.append(following)
            ratio = next(ratios)
        # ratios fall, so what is left out falls at least as fast as a geometric series
        rest = -(-(following[1] << bits) // (one - ratio[1]))
        return Weights([lower for lower, _ in listed], [upper for _, upper in listed], rest)

    @property
    def table_size(self) -> int:
        """About how many outcomes a table holds, a little more than it does.

        A Gamma law of shape s passes s + sqrt(2 * s * x) + x with probability exp(-x) at most.
        """
        shape = self.dimensions + 1
        return ceil(self.scale * ceil(shape + sqrt(2 * shape * NEGLIGIBLE) + NEGLIGIBLE))

    def _ratios(self, radii: Iterator[int] | range, step: int, bits: int) -> Iterator[Bound]:
        """Of the weight of each radius plus ``step`` to its own.

        The exponential goes inside the power, where its product with a quotient of radii is
        near 1, so that nothing large meets something small.
        """
        power = Fraction(-step) / (self.scale * self.dimensions)
        lower, upper = exp_bounds(power, digits=bits // 3 + 5)
        least, most = (lower * 2**bits).__floor__(), (upper * 2**bits).__ceil__()
        for radius in radii:
            here, there = 2 * radius + 1, 2 * (radius + step) + 1
            base = least * there // here, -(-most * there // here)
            yield _power(base, self.dimensions, bits)


def _power(base: Bound, exponent: int, bits: int) -> Bound:
    """The power of a weight by squaring, rounded outward."""
    result = base
    for digit in bin(exponent)[3:]:
        result = _times(result, result, bits)
        if digit == "1":
            result = _times(result, base, bits)
    return result


def _times(left: Bound, right: Bound, bits: int) -> Bound:
    """The product of two weights, rounded outward."""
    return left[0] * right[0] >> bits, -(-left[1] * right[1] >> bits)
