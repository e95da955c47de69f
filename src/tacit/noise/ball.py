"""L2 noise on vectors, rounded to the integer grid: idealised, in floating point."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidValue
from tacit.noise.integers import Integers
from tacit.noise.uniform import uniform_bits
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
