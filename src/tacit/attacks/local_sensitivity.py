"""Noise that fits the data tells of the data by its size."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.finding import Finding
from tacit.attacks.measured import Measured


def median_sensitivity(values: NDArray[Any], low: float, high: float) -> float:
    """How far one more or other value moves the median of an odd number of values, from here.

    Example:
        >>> median_sensitivity(np.array([0, 0, 0, 9, 9]), 0, 9)
        9.0
        >>> median_sensitivity(np.array([0, 0, 0, 0, 9]), 0, 9)
        0.0
    """
    ordered = np.concatenate([[low], np.sort(values), [high]])
    middle = ordered.size // 2
    return float(np.diff(ordered[middle - 1 : middle + 2]).max())


def side_channel(
    system: str,
    calm: NDArray[Any],
    shaken: NDArray[Any],
    value: float,
    allowed: float | None = None,
) -> Finding:
    """How often one answer tells which of two neighbours it is about, by its noise alone.

    Both have the median ``value``. On the ``calm`` one nobody can move it, so that noise of the
    local sensitivity is none: whoever sees exactly ``value`` knows.

    Example:
        >>> calm, shaken = np.zeros(8), np.array([3, -9, 1, 4, -2, 7, 5, -1])
        >>> side_channel("noise of local sensitivity", calm, shaken, 0).success.value
        1.0
    """
    hits = np.count_nonzero(calm == value) + np.count_nonzero(shaken != value)
    tries = calm.size + shaken.size
    learns = "which of two neighbours, by the size of the noise"
    success = Measured.share(float(hits), tries)
    return Finding("local sensitivity", system, learns, success, 0.5, allowed)
