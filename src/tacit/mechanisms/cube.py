"""The L-infinity mechanism: an integer vector whose every coordinate one unit may move."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from tacit.core.noise_event import CubeNoise
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.mechanisms.add_vector import AddVector
from tacit.mechanisms.confidence import valid_confidence
from tacit.mechanisms.gateway import Gateway
from tacit.noise.cube import DiscreteCube
from tacit.noise.cube_weights import CubeRadius
from tacit.noise.integers import Integers

SPARE_BITS = 64
"""Bits of a probability beyond those that the confidence itself needs."""


@dataclass(frozen=True, slots=True)
class Cube:
    """One integer vector with noise of probability proportional to exp(-max(abs(z)) / scale).

    Guarantee: a vector of L-infinity sensitivity d, released once, loses pure epsilon d / scale
    in any dimension. Where one unit may move all of many coordinates its squared error is a
    sixth of that of Laplace noise; where it moves only one of them, it is far greater.
    Reference: Hardt, Talwar 2010 (the K-norm mechanism, with the cube for K).

    Example:
        >>> from tacit.core.proof import Rule
        >>> one = Sensitivity.of(1, Norm.LINF, Rule("a person answers every question once"))
        >>> Cube(Fraction(10), dimensions=5).event(one)
        CubeNoise(sensitivity=Fraction(1, 1), scale=Fraction(10, 1), dimensions=5)
        >>> Cube(Fraction(10), dimensions=5).error(Fraction("0.95"))
        Fraction(73, 1)
    """

    scale: Fraction
    dimensions: int

    def __post_init__(self) -> None:
        self._noise()

    def event(self, sensitivity: Sensitivity) -> CubeNoise:
        """L-infinity noise of this scale, for that L-infinity sensitivity."""
        amount = sensitivity.in_norm(Norm.LINF).amount
        return CubeNoise(amount, self.scale, self.dimensions)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The vector with noise; one of any other length than ``dimensions`` is refused."""
        draw = AddVector(self._noise(), self.dimensions)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """The least integer t with P(abs(noise) <= t) >= confidence, for one coordinate.

        In a cube of radius R a coordinate is within t with probability (2t + 1) / (2R + 1), or
        1 where R <= t.
        """
        valid_confidence(confidence)
        precision = SPARE_BITS + int(1 / (1 - confidence)).bit_length()
        radii = CubeRadius(self.scale, self.dimensions).weights(precision)
        whole = confidence * (sum(radii.upper) + radii.rest)
        # of each cube, the part that one of the integers -t, ..., t takes; rounded down
        parts = [weight // (2 * radius + 1) for radius, weight in enumerate(radii.lower)]
        farther = sum(parts)
        for size, nearer in enumerate(accumulate(radii.lower)):
            farther -= parts[size]
            if nearer + (2 * size + 1) * farther >= whole:
                return Fraction(size)
        return Fraction(len(parts))  # the confidence is within rounding of all that is listed

    def _noise(self) -> DiscreteCube:
        return DiscreteCube(self.scale, self.dimensions)
