"""The L2 mechanism: a vector with the high-dimensional Laplace noise of the lectures."""

from dataclasses import dataclass
from fractions import Fraction
from math import erfc, exp, lgamma, log, sqrt

from tacit.core.noise_event import BallNoise
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.add_vector import AddVector
from tacit.mechanisms.gateway import Gateway
from tacit.noise.ball import RoundedBall
from tacit.noise.integers import Integers

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
    less with a delta (`tacit.accounting.ball`), where at every dimension tried it errs less
    than Gaussian noise does in one release. **Idealised**: the proof speaks of real numbers and
    the draw is floating point, so its event says so and a served population refuses it.
    Reference: Dwork, McSherry, Nissim, Smith 2006, proposition 1 with the L2 norm; Joseph,
    Kulesza, Yu 2025.

    Example:
        >>> from tacit.core.proof import Rule
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
