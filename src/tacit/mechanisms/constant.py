"""The mechanism that does not look."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core.event import Nothing
from tacit.core.secret import Secret
from tacit.core.sensitivity import Sensitivity
from tacit.mechanisms.confidence import valid_confidence
from tacit.mechanisms.gateway import Gateway
from tacit.noise.integers import Integers


@dataclass(frozen=True, slots=True)
class Constant:
    """Integers fixed before any data was read, whatever the secret.

    Guarantee: nothing is lost: the secret is not opened.
    Reference: Dwork, Roth 2014, definition 2.4 at epsilon 0.

    Example:
        >>> Constant((4, 2)).error(Fraction("0.95"))
        Fraction(0, 1)
    """

    values: tuple[int, ...]

    def event(self, sensitivity: Sensitivity) -> Nothing:
        """Nothing, at every sensitivity."""
        del sensitivity
        return Nothing()

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The integers; the secret does not reach the gateway."""
        del secret, sensitivity, gateway
        return np.array(self.values, dtype=np.int64)

    def error(self, confidence: Fraction) -> Fraction:
        """0: a constant is released as it is."""
        valid_confidence(confidence)
        return Fraction(0)
