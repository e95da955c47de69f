"""The Laplace mechanism on a smooth sensitivity: (epsilon, delta), idealised."""

from dataclasses import dataclass
from fractions import Fraction
from math import copysign, log

from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.core.smooth_event import SmoothLaplaceNoise
from tacit.mechanisms.confidence import valid_confidence
from tacit.mechanisms.gateway import Gateway
from tacit.noise.integers import Integers, packed
from tacit.numeric.entropy import Entropy
from tacit.numeric.exact import log_bounds


@dataclass(frozen=True, slots=True)
class SmoothLaplace:
    """One integer with Laplace noise, from a secret pair (value, smooth sensitivity).

    The pair is as for `tacit.mechanisms.lomax.Lomax`. The noise has ``factor`` times the smooth
    sensitivity as its scale, and is made of floats: idealised, and a served population refuses
    it.

    Guarantee: for real numbers, (epsilon, delta) with the delta of
    ``tacit.accounting.smooth.smooth_laplace_delta``; no pure epsilon, since the wider of two
    Laplace laws has infinitely heavier tails.
    Reference: Nissim, Raskhodnikova, Smith 2007, with the exact curve in place of their factor
    of 2.

    Example:
        >>> from tacit.core.proof import Rule
        >>> most = Sensitivity.of(10**6, Norm.LINF, Rule("the public range of the median"))
        >>> SmoothLaplace(Fraction(2), Fraction(1, 30)).event(most)
        SmoothLaplaceNoise(factor=Fraction(2, 1), smoothing=Fraction(1, 30))
    """

    factor: Fraction
    smoothing: Fraction

    def __post_init__(self) -> None:
        SmoothLaplaceNoise(self.factor, self.smoothing)  # refuses what is out of range

    def event(self, sensitivity: Sensitivity) -> SmoothLaplaceNoise:
        """Laplace noise that follows the data, however far the pair moves at worst."""
        sensitivity.in_norm(Norm.LINF)
        return SmoothLaplaceNoise(self.factor, self.smoothing)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The value with noise, alone in its batch."""
        return gateway.release(
            secret, sensitivity.in_norm(Norm.LINF), AddSmoothLaplace(self.factor)
        )

    def error(self, confidence: Fraction) -> Fraction:
        """What the release errs by, in smooth sensitivities, whose size is secret.

        P(abs(z) > t) = exp(-t/scale); rounding adds half a step of the grid at most.
        """
        valid_confidence(confidence)
        if confidence == 0:
            return Fraction(0)
        return self.factor * -log_bounds(1 - confidence)[0]


@dataclass(frozen=True, slots=True)
class AddSmoothLaplace:
    """The draw: the first of a pair, with noise of ``factor`` times the second."""

    factor: Fraction

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The value with noise, by inversion, in floats."""
        value, smooth_sensitivity = (int(each) for each in values)
        uniform = (int(entropy.words(1)[0]) + 0.5) / 2.0**entropy.word_bits
        side = min(uniform, 1 - uniform)
        # 1 - uniform is 0 for the very last words: the noise ends there, as floats do
        unit = Fraction(copysign(log(max(2 * side, 2.0**-60)), uniform - 0.5))
        return packed([value - round(unit * self.factor * max(1, smooth_sensitivity))])
