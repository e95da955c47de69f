"""Samplers of noise vectors: L2 noise (idealised) and L-infinity noise (exact).

`RoundedBall` draws L2 noise in floating point, so its guarantee is idealised. `DiscreteCube`
draws L-infinity noise exactly: it first draws the radius of a cube from a table (`CubeRadius`),
and then a uniform integer vector in this cube.
"""

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
"""Number of random bits of a uniform float. Half a step is added, so that 53 bits are used."""

LARGEST_NORM = 2**53
"""The largest norm; beyond it, floats cannot represent each integer."""


@dataclass(frozen=True, slots=True)
class RoundedBall:
    """A sampler of rounded vectors with density proportional to exp(-norm2(z) / scale).

    The norm has a Gamma distribution with shape ``dimensions`` and *scale* (not rate)
    ``scale``, drawn as a sum of ``dimensions`` exponential variables. The direction is that of
    a vector of independent normal variables.

    Guarantee: the distribution is not exact. In floating point it is accurate to about 2**-50,
    and some integers far in the tail are never drawn. Therefore `BallNoise` is marked as
    idealised.
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
                "Ball noise needs a scale above 0 and at least 1 dimension, but "
                f"scale={self.scale}, dimensions={self.dimensions} was given."
            )
        # an exponential variable that is drawn from 52 bits is never above 37
        if 37 * self.scale * self.dimensions > LARGEST_NORM:
            raise InvalidValue(
                f"Ball noise of scale={self.scale} in dimensions={self.dimensions} exceeds the "
                "integers that floats can represent; use a coarser grid."
            )

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """Return ``count`` independent draws, one per row."""
        shape = (count, self.dimensions)
        angles = 2 * np.pi * _uniforms(entropy, shape)
        normals = np.sqrt(-2 * np.log(_uniforms(entropy, shape))) * np.cos(angles)
        norms = -float(self.scale) * np.log(_uniforms(entropy, shape)).sum(axis=1)
        lengths = np.sqrt((normals**2).sum(axis=1))
        noise: Integers = np.rint(normals * (norms / lengths)[:, np.newaxis]).astype(np.int64)
        return noise


def _uniforms(entropy: Entropy, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return uniform floats strictly between 0 and 1."""
    whole = uniform_bits(entropy, shape[0] * shape[1], UNIFORM_BITS)
    uniforms: NDArray[np.float64] = (whole + 0.5) / 2**UNIFORM_BITS
    return uniforms.reshape(shape)


# ------------------------------------------------------------------ radius of the cube

Bound = tuple[int, int]
"""A lower and an upper bound on one weight."""

GUARD_BITS = 32
"""Extra bits of precision for the rounding errors of a long chain of products."""

NEGLIGIBLE = 110
"""A table ends where its weights are below exp(-110) of the largest weight (158 bits)."""


@dataclass(frozen=True, slots=True)
class CubeRadius:
    """The distribution of a radius R >= 0 with weight (2R + 1)**dimensions * exp(-R / scale).

    The weights increase up to R near dimensions * scale and then decrease. They are computed
    relative to the largest weight, in both directions from it, by products of ratios of at most
    1.
    """

    scale: Fraction
    dimensions: int

    def weights(self, precision: int) -> Weights:
        """Return bounds on the weights of outcomes; negligible ones get one common bound."""
        bits = precision + GUARD_BITS + self.dimensions.bit_length()
        one = 1 << bits
        peak = max(0, ceil(self.dimensions * self.scale) - 1)
        listed = [(one, one)]
        for ratio in self._ratios(range(peak, 0, -1), -1, bits):
            listed.append(_times(listed[-1], ratio, bits))
            if listed[-1] == (0, 1):  # then all smaller radii have these bounds too
                break
        listed += [(0, 1)] * (peak + 1 - len(listed))
        listed.reverse()
        ratios = self._ratios(count(peak), 1, bits)
        ratio = next(ratios)
        while (following := _times(listed[-1], ratio, bits))[0]:
            listed.append(following)
            ratio = next(ratios)
        # ratios decrease, so the rest decreases at least as fast as a geometric series
        rest = -(-(following[1] << bits) // (one - ratio[1]))
        return Weights([lower for lower, _ in listed], [upper for _, upper in listed], rest)

    @property
    def table_size(self) -> int:
        """An estimate of the number of outcomes in a table, which is slightly too large.

        A Gamma variable of shape s exceeds s + sqrt(2 * s * x) + x with probability at most
        exp(-x).
        """
        shape = self.dimensions + 1
        return ceil(self.scale * ceil(shape + sqrt(2 * shape * NEGLIGIBLE) + NEGLIGIBLE))

    def _ratios(self, radii: Iterator[int] | range, step: int, bits: int) -> Iterator[Bound]:
        """Yield bounds on the ratio of the weight at each radius plus ``step`` to its own.

        The exponential is computed inside the power, where its product with a quotient of radii
        is near 1, so that no large number is multiplied by a small one.
        """
        power = Fraction(-step) / (self.scale * self.dimensions)
        lower, upper = exp_bounds(power, digits=bits // 3 + 5)
        least, most = (lower * 2**bits).__floor__(), (upper * 2**bits).__ceil__()
        for radius in radii:
            here, there = 2 * radius + 1, 2 * (radius + step) + 1
            base = least * there // here, -(-most * there // here)
            yield _power(base, self.dimensions, bits)


def _power(base: Bound, exponent: int, bits: int) -> Bound:
    """Return a power of a weight, by repeated squaring, rounded outward."""
    result = base
    for digit in bin(exponent)[3:]:
        result = _times(result, result, bits)
        if digit == "1":
            result = _times(result, base, bits)
    return result


def _times(left: Bound, right: Bound, bits: int) -> Bound:
    """Return the product of two weights, rounded outward."""
    return left[0] * right[0] >> bits, -(-left[1] * right[1] >> bits)


# ------------------------------------------------------------------ L-infinity noise
# A mixture of uniform distributions on cubes.

LARGEST_TABLE = 200_000
"""The largest number of outcomes of a table, which takes a second or two to build."""

LEADING_BITS = 40
"""Number of bits of a uniform number that are drawn first.

Their product with the width of any cube of a table stays within 62 bits.
"""


@dataclass(frozen=True, slots=True)
class DiscreteCube:
    """A sampler of integer vectors with P(z) proportional to exp(-max(abs(z)) / scale).

    Guarantee: the distribution is exact, and there is no rejection. The radius R of the cube
    has weight (2R + 1)**dimensions * exp(-R / scale), and each coordinate of z is uniform on
    {-R, ..., R}. So the weight of z is the sum of exp(-R / scale) over all R >= max(abs(z)),
    which is proportional to exp(-max(abs(z)) / scale).
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
                "Cube noise needs a scale above 0 and at least 1 dimension, but "
                f"scale={self.scale}, dimensions={self.dimensions} was given."
            )
        if (size := self._radius.table_size) > LARGEST_TABLE:
            raise InvalidValue(
                f"Cube noise of scale={self.scale} in dimensions={self.dimensions} needs a "
                f"table of about {size} outcomes, but at most {LARGEST_TABLE} are allowed; "
                "use a coarser grid."
            )

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """Return ``count`` independent draws, one per row."""
        radius = Inversion(self._radius).draw(entropy, count)
        each = np.repeat(radius, self.dimensions)
        places = uniform_below_each(entropy, 2 * each + 1)
        return (places - each).reshape(count, self.dimensions)

    @property
    def _radius(self) -> CubeRadius:
        return CubeRadius(self.scale, self.dimensions)


def uniform_below_each(entropy: Entropy, sizes: Integers) -> Integers:
    """Draw one uniform integer from 0 to size - 1 for each of ``sizes``, all below 2**22.

    Guarantee: the distribution is exact. The draw is floor(U * size) of a uniform U, with more
    bits of the same U if the first do not decide. Unlike rejection, this takes the same number
    of words for every size, so that its running time does not reveal the radius of a cube.

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
    # undecided if further bits of U could carry into the result
    undecided = (products & (1 << bits) - 1) + sizes > 1 << bits
    for position in np.flatnonzero(undecided):
        places[position] = _decide(entropy, int(leading[position]), bits, int(sizes[position]))
    return places


def _decide(entropy: Entropy, leading: int, bits: int, size: int) -> int:
    """Draw more words of U until floor(U * size) is decided, and return it."""
    while leading * size >> bits != ((leading + 1) * size - 1) >> bits:
        leading = leading << entropy.word_bits | int(entropy.words(1)[0])
        bits += entropy.word_bits
    return leading * size >> bits
