"""What a robust statistic releases: a number, and an interval where one may be printed."""

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.choose import choose_noise
from tacit.core import Event, Loss, Measure, Norm, Rule, Secret, Sensitivity
from tacit.errors import InternalError
from tacit.mechanisms import Gateway, Gaussian, Laplace, Mechanism
from tacit.noise import Integers

CONFIDENCE = Fraction(19, 20)
"""Of every interval here."""

NORMAL = NormalDist().inv_cdf(float((1 + CONFIDENCE) / 2))
"""Deviations of a normal law within which it lies with that confidence."""


@dataclass(frozen=True, slots=True)
class RobustEstimate:
    """A released number; ``interval`` is None where none may be printed.

    ``of`` says what the interval holds: the sample's own number, which only noise hides, or the
    population's, which sampling hides too.

    Example:
        >>> print(RobustEstimate(101.25, (99.5, 103.0), "the population's mean"))
        101.2, and 99.5 to 103 holds the population's mean with 95%
        >>> print(RobustEstimate(101.25))
        101.2, with no interval
    """

    value: float
    interval: tuple[float, float] | None = None
    of: str = ""

    def __str__(self) -> str:
        if self.interval is None:
            return f"{self.value:.4g}, with no interval"
        low, high = self.interval
        return (
            f"{self.value:.4g}, and {low:.4g} to {high:.4g} holds {self.of} "
            f"with {float(100 * CONFIDENCE):.0f}%"
        )

    def holds(self, number: float) -> bool:
        """Whether there is an interval, and ``number`` lies in it."""
        return self.interval is not None and self.interval[0] <= number <= self.interval[1]


# ------------------------------------------------------------------ steps
# Values as whole steps from a public centre, one for each unit, and sums that are exact.

Floats = NDArray[np.float64]

CHUNK = 2**14
"""Terms that are added in 64 bits at a time; Python's integers hold the rest."""


def steps_from(values: ArrayLike, centre: float, reach: float, half: int) -> Integers:
    """Steps from ``centre``, ``half`` of them as far as ``reach``, where values are clamped.

    What is no number counts as the lowest. However wide the reach, one value moves a sum by the
    same number of steps: a price is known before the reach is.

    Guarantee: total, within -half and half, and a function of each value by itself.

    Example:
        >>> steps_from([0.256, 7.0, float("nan"), float("-inf")], 0.5, 0.5, 50).tolist()
        [-24, 50, -50, -50]
    """
    numbers = np.asarray(values, dtype=np.float64)
    numbers = np.where(np.isnan(numbers), -np.inf, numbers)
    # clamped first, so that no value can overflow and warn
    inside = np.clip(numbers, centre - reach, centre + reach)
    parts = np.clip((inside - centre) / reach, -1.0, 1.0)
    return np.floor(parts * half + 0.5).astype(np.int64)


def exact_sum(steps: Integers) -> int:
    """The sum of integers of at most 2**48 in magnitude, however many there are.

    Example:
        >>> exact_sum(np.full(100_000, 2**48)) == 100_000 * 2**48
        True
    """
    starts = range(0, steps.size, CHUNK)
    return sum(int(steps[start : start + CHUNK].sum()) for start in starts)


# ------------------------------------------------------------------ noisy sum
# One integer sum with noise: the step that most statistics here are made of.


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
