"""Finding a good number: an approximate search, whose answer is then checked exactly."""

from collections.abc import Callable
from fractions import Fraction

SECTIONS = 80
"""After so many an interval of a hundred is as narrow as floats tell apart."""


def least_at(function: Callable[[float], float], lowest: float, highest: float) -> float:
    """Near where a function that falls and then rises is least, by golden sections.

    Any answer is valid for a bound that holds everywhere; a better one is tighter.

    Example:
        >>> round(least_at(lambda x: (x - 3) ** 2, 0, 10), 6)
        3.0
    """
    golden = (5**0.5 - 1) / 2
    left, right = highest - golden * (highest - lowest), lowest + golden * (highest - lowest)
    at_left, at_right = function(left), function(right)
    for _ in range(SECTIONS):
        if at_left <= at_right:
            highest, right, at_right = right, left, at_left
            left = highest - golden * (highest - lowest)
            at_left = function(left)
        else:
            lowest, left, at_left = left, right, at_right
            right = lowest + golden * (highest - lowest)
            at_right = function(right)
    return (lowest + highest) / 2


def least_that(holds: Callable[[Fraction], bool], unit: Fraction) -> Fraction:
    """The least positive multiple of ``unit`` from which on a condition holds.

    Example:
        >>> least_that(lambda x: x * x >= 2, Fraction(1, 100))
        Fraction(71, 50)
    """
    high = 1
    while not holds(high * unit):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle * unit):
            high = middle
        else:
            low = middle
    return high * unit
