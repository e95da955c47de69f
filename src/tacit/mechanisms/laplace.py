"""The Laplace mechanism on integers: one number, or many."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.core.noise_event import LaplaceNoise
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.add_noise import AddNoise
from tacit.mechanisms.confidence import valid_confidence
from tacit.mechanisms.gateway import Gateway
from tacit.noise.integers import Integers
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.exact import exp_bounds, log_bounds


@dataclass(frozen=True, slots=True)
class Laplace:
    """Integers, each with its own discrete Laplace noise.

    Guarantee: integers of L1 sensitivity d, released together and once, lose pure epsilon d /
    scale: between neighbours each probability changes by a factor of exp(d / scale) at most.
    Reference: Dwork, McSherry, Nissim, Smith 2006, proposition 1; on integers Ghosh,
    Roughgarden, Sundararajan 2009.

    Example:
        >>> from tacit.core.proof import Rule
        >>> one = Sensitivity.of(1, Norm.L1, Rule("a person is in one group, once"))
        >>> Laplace(Fraction(10)).event(one)
        LaplaceNoise(sensitivity=Fraction(1, 1), scale=Fraction(10, 1))
        >>> Laplace(Fraction(10)).error(Fraction("0.95"))
        Fraction(30, 1)
    """

    scale: Fraction

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise InvalidValue(f"Laplace noise needs a scale above 0, and {self.scale} is not.")

    def event(self, sensitivity: Sensitivity) -> LaplaceNoise:
        """Laplace noise of this scale, for that L1 sensitivity."""
        return LaplaceNoise(sensitivity.in_norm(Norm.L1).amount, self.scale)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The integers with noise."""
        draw = AddNoise(DiscreteLaplace(self.scale))
        return gateway.release(secret, sensitivity.in_norm(Norm.L1), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """The least integer t with P(abs(noise) <= t) >= confidence.

        P(abs(noise) > t) = 2 * q**(t + 1) / (1 + q), q = exp(-1 / scale).
        """
        valid_confidence(confidence)
        ratio = exp_bounds(-1 / self.scale)[0]
        beyond = (1 - confidence) * (1 + ratio) / 2
        # q**(t + 1) <= beyond, where -scale * log(beyond) is rounded up
        return Fraction(max(0, (-self.scale * log_bounds(beyond)[0]).__ceil__() - 1))
