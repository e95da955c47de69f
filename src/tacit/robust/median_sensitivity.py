"""The smooth sensitivity of the median, and the pair that a smooth mechanism takes.

Neighbours replace one value, and the number of values is public. Values are whole steps of a
public grid between public bounds, and the median of an even number of values is the lower one.
"""

from fractions import Fraction

import numpy as np

from tacit.errors import InvalidValue
from tacit.noise.integers import Integers
from tacit.numeric.exact import Interval, exp_bounds

ROUNDING_SHARE = Fraction(1, 100)
"""The share of a mechanism's smoothing that pays for rounding up to whole steps."""


def local_sensitivities(values: Integers, lower: int, upper: int) -> tuple[int, ...]:
    """The greatest local sensitivity of the median within 0, 1, 2, ..., n replacements.

    Reference: Nissim, Raskhodnikova, Smith 2007, proposition 3.4.

    Example:
        >>> local_sensitivities(np.array([0, 5, 9]), 0, 10)
        (5, 9, 10, 10)
    """
    padded = _padded(values, lower, upper)
    return tuple(_within(padded, moved) for moved in range(values.size + 1))


def smooth_sensitivity(
    values: Integers, lower: int, upper: int, smoothing: Fraction
) -> Interval:
    """Bounds on max over k of exp(-smoothing * k) * (local sensitivity within k replacements).

    Guarantee: the true one lies between, and the bounds differ in the 50th digit. It is at
    least the local sensitivity, and neighbours' differ by a factor of exp(smoothing) at most.

    Example:
        >>> least, most = smooth_sensitivity(np.array([0, 5, 9]), 0, 10, Fraction(1, 2))
        >>> round(float(least), 6) == round(float(most), 6) == 5.458776
        True
    """
    if smoothing <= 0:
        raise InvalidValue(f"smoothing is above 0, and {smoothing} was given.")
    padded = _padded(values, lower, upper)
    least = most = Fraction(0)
    for moved in range(values.size + 1):
        below, above = exp_bounds(-smoothing * moved) if moved else (Fraction(1), Fraction(1))
        if above * (upper - lower) <= least:
            break  # no later one can be greater
        local = _within(padded, moved)
        least, most = max(least, below * local), max(most, above * local)
    return least, most


def smooth_median(values: Integers, lower: int, upper: int, smoothing: Fraction) -> Integers:
    """The pair (median, smooth sensitivity) in whole steps, for a mechanism of ``smoothing``.

    Guarantee: between neighbours the sensitivities differ by a factor of exp(smoothing) at most
    *after* rounding up. They are computed with 99 parts in 100 of the smoothing, b, and are at
    least a floor of M steps, where 1/M is below the remaining part: ceil(S) <= exp(b) * S' + 1
    <= exp(b + 1/M) * ceil(S').

    Example:
        >>> smooth_median(np.array([0, 5000, 9000]), 0, 10**4, Fraction(1, 2)).tolist()
        [5000, 5487]
    """
    spent = smoothing * ROUNDING_SHARE
    values = np.clip(values, lower, upper)
    exact = smooth_sensitivity(values, lower, upper, smoothing - spent)[1]
    # one step above 1/spent leaves room for the 50th digit too
    whole = max(exact.__ceil__(), (1 / spent).__ceil__() + 1)
    return np.array([median(values), whole])


def median(values: Integers) -> int:
    """The lower median.

    Example:
        >>> median(np.array([9, 0, 5, 7]))
        5
    """
    return int(np.sort(values)[(values.size - 1) // 2])


def _padded(values: Integers, lower: int, upper: int) -> Integers:
    """The values in order, with as many bounds on either side as replacements can bring in."""
    if values.size == 0:
        raise InvalidValue("A median needs one value or more, and none was given.")
    around = values.size + 1
    inside = np.sort(np.clip(values, lower, upper))
    return np.concatenate([np.full(around, lower), inside, np.full(around, upper)])


def _within(padded: Integers, moved: int) -> int:
    """The widest gap that one more replacement can make the median cross, after ``moved``."""
    size = (padded.size - 2) // 3
    middle = size + 1 + (size - 1) // 2
    above = padded[middle : middle + moved + 2]
    below = padded[middle - moved - 1 : middle + 1]
    return int((above - below).max())
