"""L2 noise on vectors, rounded to the integer grid: idealised, in floating point."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidValue
from tacit.noise.integers import Integers, uniform_bits
from tacit.noise.inversion import Inversion, Weights
from tacit.numeric import exp_bounds
from tacit.numeric.entropy import Entropy

UNIFORM_BITS = 52
"""Bits of a uniform float, which with the half step added are the 53 that a float holds."""

LARGEST_NORM = 2**53
"""Norms that could pass this have no float for each integer."""


@dataclass(frozen=True, slots=True)
class RoundedBall:
    """A sampler of vectors with density proportional to exp(-norm2(z) / scale), rounded.

    The norm is Gamma with shape ``dimensions`` and *scale* (not rate) ``scale``: so many
    exponentials are added. The direction is that of independent normals.

    Guarantee: none of exactness. This is floating point: the law is right to about 2**-50, and
    some integers of a far tail are never drawn. `BallNoise` is marked idealised for it.
    Reference: Chaudhuri, Monteleoni, Sarwate 2011, algorithm 1; Box, Muller 1958.

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> RoundedBall(Fraction(1000), dimensions=3).draw(SystemEntropy(b"charge"), 4).shape
        (4, 3)
    """

    scale: Fraction
    dimensions: int

    def __post_init__(self) -> None:
        if self.scale <= 0 or self.dimensions < 1:
            raise InvalidValue(
                "Ball noise needs a scale above 0 and at least 1 dimension, and "
                f"scale={self.scale}, dimensions={self.dimensions} was given."
            )
        # no exponential drawn from 52 bits passes 37
        if 37 * self.scale * self.dimensions > LARGEST_NORM:
            raise InvalidValue(
                f"Ball noise of scale={self.scale} in dimensions={self.dimensions} passes the "
                "integers that floats hold; use a coarser grid."
            )

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """``count`` independent draws, one a row."""
        shape = (count, self.dimensions)
        angles = 2 * np.pi * _uniforms(entropy, shape)
        normals = np.sqrt(-2 * np.log(_uniforms(entropy, shape))) * np.cos(angles)
        norms = -float(self.scale) * np.log(_uniforms(entropy, shape)).sum(axis=1)
        lengths = np.sqrt((normals**2).sum(axis=1))
        noise: Integers = np.rint(normals * (norms / lengths)[:, np.newaxis]).astype(np.int64)
        return noise


def _uniforms(entropy: Entropy, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Uniform floats strictly between 0 and 1."""
    whole = uniform_bits(entropy, shape[0] * shape[1], UNIFORM_BITS)
    uniforms: NDArray[np.float64] = (whole + 0.5) / 2**UNIFORM_BITS
    return uniforms.reshape(shape)


# ------------------------------------------------------------------ cube weights
# The law of the size of the cube that L-infinity noise lies in, as its weights.

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


# ------------------------------------------------------------------ cube
# L-infinity noise on integer vectors, exactly, as a mixture of uniform cubes.

LARGEST_TABLE = 200_000
"""Outcomes of the greatest table, which takes a second or two to build."""

LEADING_BITS = 40
"""Bits of a uniform number that are looked at first.

Their product with the width of a cube that a table holds stays within 62 bits.
"""


@dataclass(frozen=True, slots=True)
class DiscreteCube:
    """A sampler of integer vectors, P(z) proportional to exp(-max(abs(z)) / scale).

    Guarantee: the law is exact, and there is no rejection. The cube's radius R has weight
    (2R + 1)**dimensions * exp(-R / scale), and z is uniform on {-R, ..., R} in each coordinate:
    then z has the weight of exp(-R / scale) summed over R >= max(abs(z)), which is proportional
    to exp(-max(abs(z)) / scale).
    Reference: Hardt, Talwar 2010 (the K-norm mechanism); Devroye 1986, chapter II.4
    (mixtures).

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> DiscreteCube(Fraction(3), dimensions=2).draw(SystemEntropy(b"charge"), 4).shape
        (4, 2)
    """

    scale: Fraction
    dimensions: int

    def __post_init__(self) -> None:
        if self.scale <= 0 or self.dimensions < 1:
            raise InvalidValue(
                "Cube noise needs a scale above 0 and at least 1 dimension, and "
                f"scale={self.scale}, dimensions={self.dimensions} was given."
            )
        if (size := self._radius.table_size) > LARGEST_TABLE:
            raise InvalidValue(
                f"Cube noise of scale={self.scale} in dimensions={self.dimensions} needs a "
                f"table of about {size} outcomes, and {LARGEST_TABLE} are allowed; "
                "use a coarser grid."
            )

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """``count`` independent draws, one a row."""
        radius = Inversion(self._radius).draw(entropy, count)
        each = np.repeat(radius, self.dimensions)
        places = uniform_below_each(entropy, 2 * each + 1)
        return (places - each).reshape(count, self.dimensions)

    @property
    def _radius(self) -> CubeRadius:
        return CubeRadius(self.scale, self.dimensions)


def uniform_below_each(entropy: Entropy, sizes: Integers) -> Integers:
    """One uniform integer of 0, ..., size - 1 for each of ``sizes``, which are below 2**22.

    Guarantee: the law is exact: floor(U * size) of a uniform U, with more bits of the same U
    where the first cannot decide. Unlike rejection it takes the same words for every size, so
    that its time does not tell the radius of a cube.

    Example:
        >>> from tacit.testing.entropy import ScriptedEntropy
        >>> words = ScriptedEntropy([0, 7, 15, 8], word_bits=4)
        >>> uniform_below_each(words, np.array([3, 3, 3])).tolist()
        [0, 1, 2]
    """
    bits = min(LEADING_BITS, entropy.word_bits)
    leading = uniform_bits(entropy, sizes.size, bits)
    products = leading * sizes
    places = products >> bits
    # the bits to come may carry
    undecided = (products & (1 << bits) - 1) + sizes > 1 << bits
    for position in np.flatnonzero(undecided):
        places[position] = _decide(entropy, int(leading[position]), bits, int(sizes[position]))
    return places


def _decide(entropy: Entropy, leading: int, bits: int, size: int) -> int:
    """The place of a uniform number that begins with ``leading``, from more words of it."""
    while leading * size >> bits != ((leading + 1) * size - 1) >> bits:
        leading = leading << entropy.word_bits | int(entropy.words(1)[0])
        bits += entropy.word_bits
    return leading * size >> bits
