"""A released value, or what was computed of some, and the range that goes with it."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from tacit.core.keys import Key
from tacit.core.release import Interval
from tacit.errors import InvalidValue
from tacit.plan.expression import Operation

Plain = Fraction | Key | bool | None
"""What a computed column holds."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value, the interval around it if it has noise, and how likely that is to miss at most.

    Guarantee: where the intervals of two parts hold, so does that of what is computed of them;
    doubts add up.

    Example:
        >>> near = Estimate(Fraction(10), (Fraction(8), Fraction(12)), Fraction(1, 20))
        >>> (near * near).interval, (near * near).doubt
        ((Fraction(64, 1), Fraction(144, 1)), Fraction(1, 10))
    """

    value: Plain
    interval: Interval | None = None
    doubt: Fraction = Fraction(0)

    @property
    def number(self) -> Fraction:
        """The value, which must be a number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | Fraction):
            raise InvalidValue("Arithmetic after a release takes numbers.")
        return Fraction(self.value)

    def __add__(self, other: "Estimate") -> "Estimate":
        return self._with(other, Operation.ADD)

    def __sub__(self, other: "Estimate") -> "Estimate":
        return self._with(other, Operation.SUBTRACT)

    def __mul__(self, other: "Estimate") -> "Estimate":
        return self._with(other, Operation.MULTIPLY)

    def __truediv__(self, other: "Estimate") -> "Estimate":
        """The quotient, NULL by 0; nothing is said about it where the divisor may be 0."""
        if self.value is None or other.value is None or other.number == 0:
            return Estimate(None)
        low, high = other.interval or (other.number, other.number)
        if low <= 0 <= high:
            return Estimate(self.number / other.number, None, self.doubt + other.doubt)
        inverse = Estimate(1 / other.number, (1 / high, 1 / low), other.doubt)
        return self * (inverse if other.interval else Estimate(1 / other.number))

    def _with(self, other: "Estimate", operation: Operation) -> "Estimate":
        if self.value is None or other.value is None:
            return Estimate(None)
        value = _apply(operation, self.number, other.number)
        doubt = self.doubt + other.doubt
        unknown = any(part.doubt and part.interval is None for part in (self, other))
        if unknown or not doubt:
            return Estimate(value, None, doubt)
        sides = [part.interval or (part.number, part.number) for part in (self, other)]
        ends = [_apply(operation, left, right) for left, right in product(*sides)]
        return Estimate(value, (min(ends), max(ends)), doubt)


def _apply(operation: Operation, left: Fraction, right: Fraction) -> Fraction:
    match operation:
        case Operation.ADD:
            return left + right
        case Operation.SUBTRACT:
            return left - right
        case Operation.MULTIPLY:
            return left * right
