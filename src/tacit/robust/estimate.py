"""The result type of robust statistics, and the exact noisy sums from which they are built.

`RobustEstimate` is a released number with an optional confidence interval. `steps_from` maps
values to an integer grid around a public centre, `exact_sum` adds them without rounding, and
`NoisySum` adds the noise. Most statistics of this package consist of these three steps.
"""

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
"""The confidence of every interval in this package."""

NORMAL = NormalDist().inv_cdf(float((1 + CONFIDENCE) / 2))
"""Half the width of a normal interval of that confidence, in standard deviations."""


@dataclass(frozen=True, slots=True)
class RobustEstimate:
    """A released number; ``interval`` is None where no interval can be computed.

    ``of`` names the quantity that the interval covers. It is either the statistic of the
    sample, and then the interval covers the noise only, or the statistic of the population, and
    then the interval covers sampling error as well.

    Example:
        >>> print(RobustEstimate(101.25, (99.5, 103.0), "the population's mean"))
        101.2 (95% interval for the population's mean: 99.5 to 103)
        >>> print(RobustEstimate(101.25))
        101.2 (no interval)
    """

    value: float
    interval: tuple[float, float] | None = None
    of: str = ""

    def __str__(self) -> str:
        if self.interval is None:
            return f"{self.value:.4g} (no interval)"
        low, high = self.interval
        return (
            f"{self.value:.4g} ({float(100 * CONFIDENCE):.0f}% interval for {self.of}: "
            f"{low:.4g} to {high:.4g})"
        )

    def holds(self, number: float) -> bool:
        """Return whether there is an interval that contains ``number``."""
        return self.interval is not None and self.interval[0] <= number <= self.interval[1]


# ------------------------------------------------------------------ exact sums on a grid

Floats = NDArray[np.float64]

CHUNK = 2**14
"""Number of terms that are added in 64 bits; their sums are added as Python integers."""


def steps_from(values: ArrayLike, centre: float, reach: float, half: int) -> Integers:
    """Round values to a grid with ``half`` steps on each side of ``centre``.

    Values are clamped to ``reach`` from the centre, and NaN counts as the lowest value. The
    number of steps by which one value can change a sum does not depend on the reach. So the
    privacy loss is known before the reach is, where a mechanism chooses the reach.

    Guarantee: the function is defined for every input, its results lie between -half and half,
    and each is a function of its own value only.

    Example:
        >>> steps_from([0.256, 7.0, float("nan"), float("-inf")], 0.5, 0.5, 50).tolist()
        [-24, 50, -50, -50]
    """
    numbers = np.asarray(values, dtype=np.float64)
    numbers = np.where(np.isnan(numbers), -np.inf, numbers)
    # clamp first, so that no value overflows and causes a warning
    inside = np.clip(numbers, centre - reach, centre + reach)
    parts = np.clip((inside - centre) / reach, -1.0, 1.0)
    return np.floor(parts * half + 0.5).astype(np.int64)


def exact_sum(steps: Integers) -> int:
    """Return the exact sum of any number of integers of magnitude up to 2**48.

    Example:
        >>> exact_sum(np.full(100_000, 2**48)) == 100_000 * 2**48
        True
    """
    starts = range(0, steps.size, CHUNK)
    return sum(int(steps[start : start + CHUNK].sum()) for start in starts)


# ------------------------------------------------------------------ noisy sums


@dataclass(frozen=True, slots=True)
class NoisySum:
    """A release of integer sums with a known sensitivity, and noise for a given loss.

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
        """Choose Gaussian noise under zCDP, or Laplace noise under pure epsilon.

        ``square`` is the squared sensitivity, in L2 under zCDP and in L1 under pure epsilon.
        """
        norm = Norm.L2 if loss.measure is Measure.ZCDP else Norm.L1
        sensitivity = Sensitivity(square, norm, Rule(why))
        return cls(choose_noise([sensitivity], dimensions, loss).mechanism, sensitivity)

    def event(self) -> Event:
        """Describe the release for the accountant."""
        return self.mechanism.event(self.sensitivity)

    def release(self, exact: list[int], gateway: Gateway) -> Integers:
        """Release the integers with noise."""
        batch = np.array(exact, dtype=object if max(map(abs, exact)) >= 2**62 else np.int64)
        return self.mechanism.release(Secret(batch), self.sensitivity, gateway)

    @property
    def variance(self) -> float:
        """The variance of the noise on one integer; for Laplace noise, 2 * scale**2."""
        match self.mechanism:
            case Gaussian(variance=variance):
                return float(variance)
            case Laplace(scale=scale):
                return 2 * float(scale) ** 2
        raise InternalError("A noisy sum must have Gaussian or Laplace noise.")

    def error(self, confidence: Fraction) -> float:
        """Return the margin of error of one integer, with that confidence."""
        return float(self.mechanism.error(confidence))
