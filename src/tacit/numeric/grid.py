"""Fixed-point grids, which map a bounded column to integers.

Sums of integers are exact in every engine and in every order, and their sensitivity is known.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from tacit.errors import InvalidValue

FINE_STEPS = 2**32
"""Minimum number of steps for a float column, so that rounding is far below any noise."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A public grid over an interval; values are clamped to it and rounded to the nearest step.

    Guarantee: ``index`` is an integer between ``lowest`` and ``highest``, for every input. Two
    values in the interval are at most ``highest - lowest`` steps apart, so that the sensitivity
    of a sum, in steps, is known in advance.
    Reference: Casacuberta, Shoemate, Vadhan, Wagaman 2022: sums of floats exceed idealised
    sensitivities.

    Example:
        >>> cents = Grid(Fraction(0), Fraction(100), step=Fraction(1, 100))
        >>> cents.index(Fraction("12.345")), cents.index(Fraction(1000)), cents.highest
        (1235, 10000, 10000)
        >>> cents.value(1235)
        Fraction(247, 20)
    """

    lower: Fraction
    upper: Fraction
    step: Fraction

    def __post_init__(self) -> None:
        if self.step <= 0:
            raise InvalidValue(f"A grid needs a step above 0, but {self.step} was given.")
        if self.lower > self.upper:
            raise InvalidValue(
                f"A grid needs lower <= upper, but lower={self.lower} and upper={self.upper} "
                "were given."
            )

    @classmethod
    def fine(cls, lower: Fraction, upper: Fraction, steps: int = FINE_STEPS) -> Self:
        """Return a grid for a float column with at least ``steps`` steps.

        The step is a power of two. Division by it does not round a binary float, so that every
        engine computes the same integer.

        Example:
            >>> Grid.fine(Fraction(0), Fraction(1)).step == Fraction(1, 2**32)
            True
        """
        if steps < 1:
            raise InvalidValue(f"A grid needs at least 1 step, but {steps} were given.")
        widest = (upper - lower) / steps if upper > lower else Fraction(1, steps)
        # the greatest power of two that is at most `widest`
        exponent = widest.numerator.bit_length() - widest.denominator.bit_length()
        step = Fraction(2) ** exponent
        return cls(lower, upper, step if step <= widest else step / 2)

    @property
    def lowest(self) -> int:
        """The index of the lower bound."""
        return self._nearest(self.lower)

    @property
    def highest(self) -> int:
        """The index of the upper bound."""
        return self._nearest(self.upper)

    def index(self, value: Fraction) -> int:
        """Return the index of the step nearest to the clamped ``value``; a half rounds up."""
        return self._nearest(min(max(value, self.lower), self.upper))

    def value(self, index: int) -> Fraction:
        """Return the value of an index, or of a sum of indices, in the units of the column."""
        return index * self.step

    def rounding_error(self, rows: int) -> Fraction:
        """Return the largest effect of rounding on a sum over ``rows`` rows.

        Confidence intervals are widened by this amount.
        """
        return rows * self.step / 2

    def sum_bits(self, rows: int) -> int:
        """Return the number of bits, with sign, that every sum over ``rows`` rows fits in.

        The type of sums in an engine must have at least as many bits, so that overflow is
        impossible and not only unlikely.

        Example:
            >>> Grid(Fraction(0), Fraction(100), Fraction(1)).sum_bits(rows=10**12)
            48
        """
        return (rows * max(abs(self.lowest), abs(self.highest))).bit_length() + 1

    def _nearest(self, value: Fraction) -> int:
        return (value / self.step + Fraction(1, 2)).__floor__()
