"""One integer sum with noise: the step that most statistics here are made of."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from tacit.choose.noise import choose_noise
from tacit.core.event import Event
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.core.proof import Rule
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InternalError
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mechanism import Mechanism
from tacit.noise.integers import Integers


@dataclass(frozen=True, slots=True)
class NoisySum:
    """Integers that one unit moves by ``sensitivity``, and the noise that a loss asks for.

    Example:
        >>> NoisySum.within(
        ...     Loss.zcdp("0.5"), Fraction(16), "one of 5 steps and one of 3"
        ... ).event()
        GaussianNoise(sensitivity_square=Fraction(16, 1), variance=Fraction(16, 1))
    """

    mechanism: Mechanism
    sensitivity: Sensitivity

    @classmethod
    def within(cls, loss: Loss, square: Fraction, why: str, dimensions: int = 1) -> Self:
        """Gaussian noise under zCDP, Laplace noise under epsilon; ``square`` is in its norm."""
        norm = Norm.L2 if loss.measure is Measure.ZCDP else Norm.L1
        sensitivity = Sensitivity(square, norm, Rule(why))
        return cls(choose_noise([sensitivity], dimensions, loss).mechanism, sensitivity)

    def event(self) -> Event:
        """What releasing it does."""
        return self.mechanism.event(self.sensitivity)

    def release(self, exact: list[int], gateway: Gateway) -> Integers:
        """The integers with noise."""
        batch = np.array(exact, dtype=object if max(map(abs, exact)) >= 2**62 else np.int64)
        return self.mechanism.release(Secret(batch), self.sensitivity, gateway)

    @property
    def variance(self) -> float:
        """Of the noise of one integer; a Laplace law of scale s has 2 * s**2."""
        match self.mechanism:
            case Gaussian(variance=variance):
                return float(variance)
            case Laplace(scale=scale):
                return 2 * float(scale) ** 2
        raise InternalError("A noisy sum has Gaussian or Laplace noise.")

    def error(self, confidence: Fraction) -> float:
        """What one of the integers errs by at most, with that probability."""
        return float(self.mechanism.error(confidence))
