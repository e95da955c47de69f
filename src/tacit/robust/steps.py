"""Values as whole steps from a public centre, one for each unit, and sums that are exact."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.noise.integers import Integers

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
