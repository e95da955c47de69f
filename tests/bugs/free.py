"""No bug: a tally that is released as it is and costs nothing, for bugs that fail open."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.core.event import Nothing
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.mechanisms.gateway import Gateway
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy
from tacit.query.quote import PricedTally


@dataclass(frozen=True, slots=True)
class AsItIs:
    """The draw that draws nothing."""

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        del entropy
        return values.copy()


@dataclass(frozen=True, slots=True)
class NoNoise:
    """The mechanism of a number that nobody is thought to move."""

    def event(self, sensitivity: Sensitivity) -> Nothing:
        del sensitivity
        return Nothing()

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        return gateway.release(secret, sensitivity, AsItIs())

    def error(self, confidence: Fraction) -> Fraction:
        del confidence
        return Fraction(0)


def free(priced: PricedTally) -> PricedTally:
    """The same tally, believed to be moved by nobody."""
    return PricedTally(NoNoise(), Sensitivity(Fraction(0), Norm.L2, priced.sensitivity.proof))
