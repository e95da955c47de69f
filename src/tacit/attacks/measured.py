"""What was measured, and how far the truth may lie from it."""

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidValue

CONFIDENCE = 0.9999
"""How often an interval holds the probability that it is about.

So an honest system that gives exactly what it promises is convicted once in 20,000 times.
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """A share of tries, with the interval that holds its probability at a confidence.

    Reference: Wilson 1927 (the interval); DeLong, DeLong, Clarke-Pearson 1988 (of an area).

    Example:
        >>> print(Measured.share(50, 100))
        50% (31.9% to 68.1%)
        >>> print(Measured.share(1000, 1000))
        100% (98.5% to 100%)
    """

    value: float
    low: float
    high: float
    confidence: float = CONFIDENCE

    @classmethod
    def share(cls, hits: float, count: float, confidence: float = CONFIDENCE) -> "Measured":
        """``hits`` of ``count`` independent tries."""
        if not 0 <= hits <= count or count <= 0:
            raise InvalidValue(
                f"A share is of at least 1 try, and holds none but those: {hits} of {count}."
            )
        value = hits / count
        width = NormalDist().inv_cdf((1 + confidence) / 2)
        middle = (value + width**2 / (2 * count)) / (1 + width**2 / count)
        room = sqrt(value * (1 - value) / count + width**2 / (4 * count**2))
        half = width * room / (1 + width**2 / count)
        low, high = max(0.0, middle - half), min(1.0, middle + half)
        return cls(value, min(low, value), max(high, value), confidence)

    @classmethod
    def area(
        cls, members: NDArray[Any], others: NDArray[Any], confidence: float = CONFIDENCE
    ) -> "Measured":
        """How often a member's score is above another's; ties are half.

        It is the area under the curve of hits against false alarms, and a half is a guess.

        Example:
            >>> print(Measured.area(np.array([2, 3, 4, 4]), np.array([1, 2, 0, 2])))
            93.8% (37.6% to 99.7%)
        """
        above = _places(members, others)
        below = _places(others, members)
        value = float(above.mean())
        spread = _variance(above) / above.size + _variance(below) / below.size
        few = min(above.size, below.size)
        # as many tries of an even weight as would be as sure
        count = value * (1 - value) / spread if spread > 0 else float(few)
        return cls.share(value * count, count, confidence)

    def __str__(self) -> str:
        value, low, high = (f"{100 * each:.3g}%" for each in (self.value, self.low, self.high))
        return f"{value} ({low} to {high})"


def _places(scores: NDArray[Any], among: NDArray[Any]) -> NDArray[np.float64]:
    """For each score, the share of the others that is below it; ties are half."""
    order = np.sort(among)
    left, right = np.searchsorted(order, scores), np.searchsorted(order, scores, side="right")
    return np.asarray((left + right) / (2 * among.size), dtype=np.float64)


def _variance(values: NDArray[np.float64]) -> float:
    return float(values.var(ddof=1)) if values.size > 1 else 0.0
