"""The Lomax mechanism: noise in proportion to a smooth sensitivity, with pure epsilon."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.core.smooth_event import LomaxNoise
from tacit.mechanisms.confidence import valid_confidence
from tacit.mechanisms.gateway import Gateway
from tacit.noise.integers import Integers, packed
from tacit.noise.lomax import RoundedLomax, lomax_factor
from tacit.numeric.entropy import Entropy
from tacit.numeric.exact import exp_bounds, log_bounds


@dataclass(frozen=True, slots=True)
class Lomax:
    """One integer with rounded Lomax noise, from a secret pair (value, smooth sensitivity).

    Both are whole steps of one public grid. The pair must be smooth *as integers*: between
    neighbours the value moves by at most the lesser of both sensitivities, and they differ by a
    factor of exp(smoothing) at most. Rounding up breaks that unless it is paid for:
    `tacit.robust.median_sensitivity` shows how. The `Sensitivity` of the pair is its worst case
    over all neighbours, for audits; it sets no noise.

    Guarantee: pure epsilon.
    Reference: ``docs/privacy/mechanisms/lomax.md`` proves it, with the exact scale; the family
    of noise is that of Hladík, Tětek 2025.

    Example:
        >>> from tacit.core.proof import Rule
        >>> most = Sensitivity.of(10**6, Norm.LINF, Rule("the public range of the median"))
        >>> Lomax(Fraction(1), Fraction(1, 6)).event(most)
        LomaxNoise(epsilon=Fraction(1, 1), smoothing=Fraction(1, 6))
    """

    epsilon: Fraction
    smoothing: Fraction

    def __post_init__(self) -> None:
        LomaxNoise(self.epsilon, self.smoothing)  # refuses what is out of range

    def event(self, sensitivity: Sensitivity) -> LomaxNoise:
        """Lomax noise of this epsilon, however far the pair moves at worst."""
        sensitivity.in_norm(Norm.LINF)
        return LomaxNoise(self.epsilon, self.smoothing)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The value with noise, alone in its batch."""
        draw = AddLomax(lomax_factor(self.epsilon, self.smoothing), self._tail)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """What the release errs by, in smooth sensitivities, whose size is secret.

        P(abs(z) > t) = (1 + t/scale)**(-tail); rounding adds half a step of the grid at most.
        """
        valid_confidence(confidence)
        if confidence == 0:
            return Fraction(0)
        power = exp_bounds(-log_bounds(1 - confidence)[0] / self._tail)[1]
        return lomax_factor(self.epsilon, self.smoothing) * (power - 1)

    @property
    def _tail(self) -> Fraction:
        return self.epsilon / self.smoothing


@dataclass(frozen=True, slots=True)
class AddLomax:
    """The draw: the first of a pair, with noise of ``factor`` times the second."""

    factor: Fraction
    tail: Fraction

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The value with noise, of one step's sensitivity at least."""
        value, smooth_sensitivity = (int(each) for each in values)
        scale = self.factor * max(1, smooth_sensitivity)
        noisy = value + int(RoundedLomax(self.tail).draw(entropy, scale, 1)[0])
        return packed([noisy])
