"""Mechanisms that add one draw of vector noise to an integer vector of a fixed length.

`Ball` is the K-norm mechanism with the L2 norm, and `Cube` with the L-infinity norm.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import erfc, exp, lgamma, log, sqrt
from typing import Protocol

from tacit.core import BallNoiseV2, CubeNoiseV2, Norm, Secret, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.mechanism import valid_confidence
from tacit.noise import CubeRadius, DiscreteCube, Integers, RoundedBall, narrow
from tacit.numeric.entropy import Entropy


class VectorSampler(Protocol):
    """A distribution of noise on integer vectors, such as those of `tacit.noise.vector`."""

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """Return ``count`` independent draws, one in each row."""
        ...


@dataclass(frozen=True, slots=True)
class AddVector:
    """The random step: one draw of vector noise on a vector with ``dimensions`` entries.

    Guarantee: the sum is exact. A vector of another length is refused, because its noise would
    not have the distribution that was priced. The length is public.

    Example:
        >>> import numpy as np
        >>> from fractions import Fraction
        >>> from tacit.noise.vector import DiscreteCube
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> noise = AddVector(DiscreteCube(Fraction(10), dimensions=2), dimensions=2)
        >>> noise(np.array([40, 2]), SystemEntropy(charge=b"the hash of a charge")).shape
        (2,)
    """

    sampler: VectorSampler
    dimensions: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return the vector with noise."""
        if values.shape != (self.dimensions,):
            raise InvalidValue(
                f"This noise needs a vector of {self.dimensions} integers, but a batch of "
                f"shape {values.shape} was given."
            )
        noise = self.sampler.draw(entropy, 1).reshape(self.dimensions)
        return narrow(values.astype(object) + noise.astype(object))


# ------------------------------------------------------------------ L2 norm

NODES = 400
"""Number of quadrature points for the integral of a tail."""

FLOAT_MARGIN = 1e-9
"""Bound on the relative error of the quadrature."""

GREATEST_CONFIDENCE = 1 - Fraction(1, 10**12)
"""Largest confidence for which the error is computed.

The proof is idealised, so that smaller tails would have no meaning.
"""


@dataclass(frozen=True, slots=True)
class Ball:
    """The L2 mechanism: noise with density exp(-norm2(z) / scale), rounded to the grid.

    Guarantee: the release of a vector of L2 sensitivity d has pure epsilon d / scale. With a
    delta its epsilon is smaller (`tacit.accounting.curves`); for one release, its error was
    smaller than that of Gaussian noise in every dimension that we tried. **Idealised**: the
    proof is about real numbers, but the noise is drawn in floating point. The event says so,
    and a population that is served refuses such an event.
    Reference: Dwork, McSherry, Nissim, Smith 2006, proposition 1 with the L2 norm; Joseph,
    Kulesza, Yu 2025.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> step = Sensitivity.of(1000, Norm.L2, Rule("a gradient is clipped to 1000 steps"))
        >>> Ball(Fraction(2000), dimensions=5).event(step).numerics
        <Numerics.IDEALISED: 'idealised'>
        >>> Ball(Fraction(1000), dimensions=1).error(Fraction("0.95"))
        Fraction(2996, 1)
    """

    scale: Fraction
    dimensions: int

    def __post_init__(self) -> None:
        self._noise()

    def event(self, sensitivity: Sensitivity) -> BallNoiseV2:
        """Return the (idealised) event of L2 noise with this scale, for the L2 sensitivity."""
        square = sensitivity.in_norm(Norm.L2).square
        return BallNoiseV2(square, self.scale, self.dimensions)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Return the vector with noise; its length must be ``dimensions``."""
        draw = AddVector(self._noise(), self.dimensions)
        return gateway.release(secret, sensitivity.in_norm(Norm.L2), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the least integer t with P(abs(noise) <= t) >= confidence, by coordinate.

        Rounded noise is within t where the noise is within t + 1/2.
        """
        if not 0 <= confidence <= GREATEST_CONFIDENCE:
            raise InvalidValue(
                "A confidence must be in [0, 1 - 1e-12] for L2 noise (Ball), but "
                f"{confidence} was given."
            )
        allowed = float(1 - confidence) * (1 - FLOAT_MARGIN)
        scale = float(self.scale)
        below, above = -1, 1
        while self._tail((above + 0.5) / scale) > allowed:
            below, above = above, 2 * above
        while above - below > 1:
            middle = (below + above) // 2
            if self._tail((middle + 0.5) / scale) > allowed:
                below = middle
            else:
                above = middle
        return Fraction(above)

    def _tail(self, size: float) -> float:
        """Return the probability that one coordinate is above ``size`` * scale in magnitude.

        The noise is sqrt(2 * w) * scale times a normal vector, where w is Gamma of shape
        (dimensions + 1) / 2, so that the probability is E[erfc(size / sqrt(4 * w))].
        The sum over equal steps of log(w) converges faster than any power of the step.
        """
        shape = (self.dimensions + 1) / 2
        least = log(shape) - 10 / sqrt(shape) - 40 / shape
        step = (log(shape + 10 * sqrt(shape) + 40) - least) / NODES
        logs = [least + step * place for place in range(NODES + 1)]
        return step * sum(
            exp(shape * u - exp(u) - lgamma(shape)) * erfc(size / (2 * exp(u / 2)))
            for u in logs
        )

    def _noise(self) -> RoundedBall:
        return RoundedBall(self.scale, self.dimensions)


# ------------------------------------------------------------------ L-infinity norm

SPARE_BITS = 64
"""Bits of a probability in addition to the bits that the confidence itself needs."""


@dataclass(frozen=True, slots=True)
class Cube:
    """L-infinity mechanism: noise with probability proportional to exp(-max(abs(z)) / scale).

    Guarantee: the release of an integer vector of L-infinity sensitivity d has pure epsilon
    d / scale in any dimension. Where one unit may change all of many coordinates, its squared
    error is a sixth of the error of Laplace noise. Where a unit changes only one coordinate,
    its error is far larger.
    Reference: Hardt, Talwar 2010 (the K-norm mechanism, with the cube for K).

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> one = Sensitivity.of(1, Norm.LINF, Rule("a person answers every question once"))
        >>> Cube(Fraction(10), dimensions=5).event(one)
        CubeNoiseV2(sensitivity=Fraction(1, 1), scale=Fraction(10, 1), dimensions=5)
        >>> Cube(Fraction(10), dimensions=5).error(Fraction("0.95"))
        Fraction(73, 1)
    """

    scale: Fraction
    dimensions: int

    def __post_init__(self) -> None:
        self._noise()

    def event(self, sensitivity: Sensitivity) -> CubeNoiseV2:
        """Return the event of L-infinity noise with this scale, for the sensitivity."""
        amount = sensitivity.in_norm(Norm.LINF).amount
        return CubeNoiseV2(amount, self.scale, self.dimensions)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Return the vector with noise; its length must be ``dimensions``."""
        draw = AddVector(self._noise(), self.dimensions)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the least integer t with P(abs(noise) <= t) >= confidence, by coordinate.

        In a cube of radius R, a coordinate is within t with probability (2t + 1) / (2R + 1), or
        1 where R <= t.
        """
        valid_confidence(confidence)
        precision = SPARE_BITS + int(1 / (1 - confidence)).bit_length()
        radii = CubeRadius(self.scale, self.dimensions).weights(precision)
        whole = confidence * (sum(radii.upper) + radii.rest)
        # the weight, in each cube, of one value of a coordinate; rounded down
        parts = [weight // (2 * radius + 1) for radius, weight in enumerate(radii.lower)]
        farther = sum(parts)
        for size, nearer in enumerate(accumulate(radii.lower)):
            farther -= parts[size]
            if nearer + (2 * size + 1) * farther >= whole:
                return Fraction(size)
        return Fraction(len(parts))  # only rounding separates the confidence from the total

    def _noise(self) -> DiscreteCube:
        return DiscreteCube(self.scale, self.dimensions)
