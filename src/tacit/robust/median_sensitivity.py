"""The smooth sensitivity of the median, and the pair that a smooth mechanism takes.

Neighbours replace one value, and the number of values is public. Values are whole steps of a
public grid between public bounds, and the median of an even number of values is the lower one.
"""

from fractions import Fraction

import numpy as np

from tacit.noise.integers import Integers
from tacit.numeric.exact import Interval
from tacit.robust.trimmed_sensitivity import MiddleSum


def local_sensitivities(values: Integers, lower: int, upper: int) -> tuple[int, ...]:
    """The greatest local sensitivity of the median within 0, 1, 2, ..., n replacements.

    Example:
        >>> local_sensitivities(np.array([0, 5, 9]), 0, 10)
        (5, 9, 10, 10)
    """
    return MiddleSum.median(values.size, lower, upper).local_sensitivities(values)


def smooth_sensitivity(
    values: Integers, lower: int, upper: int, smoothing: Fraction
) -> Interval:
    """Bounds on max over k of exp(-smoothing * k) * (local sensitivity within k replacements).

    Guarantee: that of `MiddleSum.smooth_sensitivity`.

    Example:
        >>> least, most = smooth_sensitivity(np.array([0, 5, 9]), 0, 10, Fraction(1, 2))
        >>> round(float(least), 6) == round(float(most), 6) == 5.458776
        True
    """
    return MiddleSum.median(values.size, lower, upper).smooth_sensitivity(values, smoothing)


def smooth_median(values: Integers, lower: int, upper: int, smoothing: Fraction) -> Integers:
    """The pair (median, smooth sensitivity) in whole steps, for a mechanism of ``smoothing``.

    Guarantee: that of `MiddleSum.smooth_pair`.

    Example:
        >>> smooth_median(np.array([0, 5000, 9000]), 0, 10**4, Fraction(1, 2)).tolist()
        [5000, 5487]
    """
    return MiddleSum.median(values.size, lower, upper).smooth_pair(values, smoothing)


def median(values: Integers) -> int:
    """The lower median.

    Example:
        >>> median(np.array([9, 0, 5, 7]))
        5
    """
    return int(np.sort(values)[(values.size - 1) // 2])
