"""Fixed-point grids: a bounded column becomes integers, whose sums are exact everywhere."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from tacit.errors import InvalidValue

FINE_STEPS = 2**32
"""Steps that the range of a float column gets at least: rounding is far below any noise."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A public grid over an interval; values are clamped to it and rounded to the nearest step.

    Guarantee: ``index`` is an integer between ``lowest`` and ``highest``, for every input; two
    values in the interval are at most ``highest - lowest`` steps apart, so a sum over one unit
    moves by a number of steps known beforehand.
    Reference: Casacuberta, Shoemate, Vadhan, Wagaman 2022: sums of floats break idealised
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
            raise InvalidValue(f"A grid needs a step above 0, and {self.step} is not.")
        if self.lower > self.upper:
            raise InvalidValue(f"A grid needs lower <= upper, and {self.lower} > {self.upper}.")

    @classmethod
    def fine(cls, lower: Fraction, upper: Fraction, steps: int = FINE_STEPS) -> Self:
        """The grid for a float column, with at least ``steps`` steps, each a power of two.

        A power of two scales a binary float without rounding, so every engine lands on the same
        integer.

        Example:
            >>> Grid.fine(Fraction(0), Fraction(1)).step == Fraction(1, 2**32)
            True
        """
        if steps < 1:
            raise InvalidValue(f"A grid needs at least 1 step, and {steps} were asked for.")
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
        """The step that ``value`` falls on, clamped to the interval; a half goes up."""
        return self._nearest(min(max(value, self.lower), self.upper))

    def value(self, index: int) -> Fraction:
        """What a sum of indices stands for, in the units of the column."""
        return index * self.step

    def rounding_error(self, rows: int) -> Fraction:
        """The most by which rounding can move a sum over ``rows`` rows.

        An interval is widened by it.
        """
        return rows * self.step / 2

    def sum_bits(self, rows: int) -> int:
        """Bits, with the sign, of an integer that holds every sum over ``rows`` rows.

        An engine's sum type must have as many, so that overflow is impossible rather than
        unlikely.

        Example:
            >>> Grid(Fraction(0), Fraction(100), Fraction(1)).sum_bits(rows=10**12)
            48
        """
        return (rows * max(abs(self.lowest), abs(self.highest))).bit_length() + 1

    def _nearest(self, value: Fraction) -> int:
        return (value / self.step + Fraction(1, 2)).__floor__()
