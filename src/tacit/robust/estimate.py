"""What a robust statistic releases: a number, and an interval where one may be printed."""

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

CONFIDENCE = Fraction(19, 20)
"""Of every interval here."""

NORMAL = NormalDist().inv_cdf(float((1 + CONFIDENCE) / 2))
"""Deviations of a normal law within which it lies with that confidence."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A released number; ``interval`` is None where none may be printed.

    ``of`` says what the interval holds: the sample's own number, which only noise hides, or the
    population's, which sampling hides too.

    Example:
        >>> print(Estimate(101.25, (99.5, 103.0), "the population's mean"))
        101.2, and 99.5 to 103 holds the population's mean with 95%
        >>> print(Estimate(101.25))
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
