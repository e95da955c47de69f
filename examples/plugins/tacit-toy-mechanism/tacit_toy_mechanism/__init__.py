"""Laplace noise on an integer, and then the nearest multiple of a public step."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.core import LaplaceNoise, Secret, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway, Laplace
from tacit.noise import Integers


@dataclass(frozen=True, slots=True)
class ToyRounded:
    """Integers with Laplace noise, in steps of ``step``.

    Guarantee: the loss of the Laplace mechanism: rounding sees the noisy integers alone.
    """

    scale: Fraction
    step: int = 3

    def __post_init__(self) -> None:
        if self.scale <= 0 or self.step < 1:
            raise InvalidValue("Rounded noise has a scale above 0 and a step of 1 or more.")

    def event(self, sensitivity: Sensitivity) -> LaplaceNoise:
        """Return what a release does: a kind of event that the ledger knows."""
        return Laplace(self.scale).event(sensitivity)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Return the noisy integers, rounded; the gateway alone opens the secret."""
        noisy = Laplace(self.scale).release(secret, sensitivity, gateway)
        return (noisy + self.step // 2) // self.step * self.step

    def error(self, confidence: Fraction) -> Fraction:
        """Return a bound of the error: the noise and half a step, rounded up."""
        return Laplace(self.scale).error(confidence) + self.step // 2
