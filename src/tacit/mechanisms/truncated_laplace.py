"""The truncated Laplace mechanism: one integer, with noise that never passes a bound."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.core.noise_event import TruncatedLaplaceNoise
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.add_vector import AddVector
from tacit.mechanisms.gateway import Gateway
from tacit.noise.integers import Integers
from tacit.noise.truncated import TruncatedDiscreteLaplace
from tacit.numeric.exact import exp_bounds, log_bounds


@dataclass(frozen=True, slots=True)
class TruncatedLaplace:
    """One integer with discrete Laplace noise that is cut at ``reach``.

    Guarantee: an integer of sensitivity d, released once, is (d / scale, delta)-private, where
    delta is the probability that the noise lies within d steps of one end of its reach: there
    the neighbour cannot follow. The interval of a release is certain, and not merely likely.
    Reference: Geng, Ding, Guo, Kumar 2020, theorem 1.

    Example:
        >>> from tacit.core.proof import Rule
        >>> one = Sensitivity.of(1, Norm.L1, Rule("a person is counted once"))
        >>> TruncatedLaplace(Fraction(1), reach=14).event(one)
        TruncatedLaplaceNoise(sensitivity=Fraction(1, 1), scale=Fraction(1, 1), reach=14)
        >>> TruncatedLaplace(Fraction(1), reach=14).error(Fraction(1))
        Fraction(14, 1)
    """

    scale: Fraction
    reach: int

    def __post_init__(self) -> None:
        self._noise()

    def event(self, sensitivity: Sensitivity) -> TruncatedLaplaceNoise:
        """Truncated Laplace noise of this scale and reach, for that sensitivity."""
        return TruncatedLaplaceNoise(
            sensitivity.in_norm(Norm.L1).amount, self.scale, self.reach
        )

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The integer with noise; a batch of any other length than 1 is refused."""
        draw = AddVector(self._noise(), dimensions=1)
        return gateway.release(secret, sensitivity.in_norm(Norm.L1), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """The least integer t with P(abs(noise) <= t) >= confidence; the reach, for certainty.

        P(abs(noise) <= t) = (1 + q - 2 * q**(t + 1)) / (1 + q - 2 * q**(reach + 1)), where q =
        exp(-1 / scale).
        """
        if not 0 <= confidence <= 1:
            raise InvalidValue(f"A confidence lies in [0, 1], and {confidence} does not.")
        ratio = exp_bounds(-1 / self.scale)[0]
        end = exp_bounds(-(self.reach + 1) / self.scale)[0]
        beyond = (1 - confidence) * (1 + ratio) / 2 + confidence * end
        if beyond == 0:  # certainty is asked for, and the end is too unlikely for its bound
            return Fraction(self.reach)
        # q**(t + 1) <= beyond, where -scale * log(beyond) is rounded up
        least = (-self.scale * log_bounds(beyond)[0]).__ceil__() - 1
        return Fraction(min(max(0, least), self.reach))

    def _noise(self) -> TruncatedDiscreteLaplace:
        return TruncatedDiscreteLaplace(self.scale, self.reach)
