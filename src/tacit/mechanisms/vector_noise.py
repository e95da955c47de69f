"""Adding one draw of vector noise to one integer vector of a fixed length."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import erfc, exp, lgamma, log, sqrt
from typing import Protocol

from tacit.core import BallNoise, CubeNoise, Norm, Secret, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.mechanism import valid_confidence
from tacit.noise import CubeRadius, DiscreteCube, Integers, RoundedBall, narrowed
from tacit.numeric.entropy import Entropy


class VectorSampler(Protocol):
    """A law of noise on integer vectors, such as `tacit.noise.vector`."""

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """``count`` independent draws, one a row."""
        ...


@dataclass(frozen=True, slots=True)
class AddVector:
    """The draw of a mechanism whose noise belongs to a vector of so many ``dimensions``.

    Guarantee: the sum is that of the integers. A vector of another length is refused, because
    its noise would have another law than the one that was priced; lengths are public.

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
        """The vector with noise."""
        if values.shape != (self.dimensions,):
            raise InvalidValue(
                f"This noise is for {self.dimensions} integers at once, and a batch of shape "
                f"{values.shape} was given."
            )
        noise = self.sampler.draw(entropy, 1).reshape(self.dimensions)
        return narrowed(values.astype(object) + noise.astype(object))


# ------------------------------------------------------------------ ball
# The L2 mechanism: a vector with the high-dimensional Laplace noise of the lectures.

NODES = 400
"""Points of the sum that stands for the integral of a tail."""

FLOAT_MARGIN = 1e-9
"""More than the sum is wrong by, as a part of it."""

GREATEST_CONFIDENCE = 1 - Fraction(1, 10**12)
"""Beyond this the tail of a law that is idealised anyway is not told."""


@dataclass(frozen=True, slots=True)
class Ball:
    """One integer vector with noise of density exp(-norm2(z) / scale), rounded to the grid.

    Guarantee: a vector of L2 sensitivity d, released once, loses pure epsilon d / scale; and
    less with a delta (`tacit.accounting.curves`), where at every dimension tried it errs less
    than Gaussian noise does in one release. **Idealised**: the proof speaks of real numbers and
    the draw is floating point, so its event says so and a served population refuses it.
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

    def event(self, sensitivity: Sensitivity) -> BallNoise:
        """L2 noise of this scale, for that L2 sensitivity: idealised."""
        square = sensitivity.in_norm(Norm.L2).square
        return BallNoise(square, self.scale, self.dimensions)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The vector with noise; one of any other length than ``dimensions`` is refused."""
        draw = AddVector(self._noise(), self.dimensions)
        return gateway.release(secret, sensitivity.in_norm(Norm.L2), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """The least integer t with P(abs(noise) <= t) >= confidence, for one coordinate.

        Rounded noise is within t where the noise is within t + 1/2.
        """
        if not 0 <= confidence <= GREATEST_CONFIDENCE:
            raise InvalidValue(
                f"A confidence lies in [0, 1 - 1e-12] for a ball, and {confidence} does not."
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
        """The probability that one coordinate passes ``size`` scales.

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


# ------------------------------------------------------------------ cube
# The L-infinity mechanism: an integer vector whose every coordinate one unit may move.

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
        >>> from tacit.core.sensitivity import Rule
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
