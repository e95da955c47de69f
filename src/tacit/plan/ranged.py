"""Steps whose range is known, whatever the rows hold: what makes overflow impossible."""

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from tacit.errors import InvalidValue
from tacit.plan.steps import HalvedSteps, ProductSteps, Steps, SumSteps, WholeSteps

ROOM = 2**62
"""No number of steps reaches this, so that 64 bits hold it, and 128 any sum of a table."""


@dataclass(frozen=True, slots=True)
class Ranged:
    """Steps of a known size, and the range that they never leave.

    ``rounding`` is how far the steps can be from the number itself, in its own units: floats
    are rounded to their grid.

    Guarantee: for every row an engine that computes the steps stays within the range, and the
    range within 62 bits; intermediate results too.

    Example:
        >>> half = Ranged.constant(Fraction(1, 2))
        >>> (half + Ranged.constant(Fraction(1, 3))).step
        Fraction(1, 6)
    """

    steps: Steps
    low: int
    high: int
    step: Fraction
    rounding: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if max(abs(self.low), abs(self.high)) >= ROOM:
            raise InvalidValue(
                "This number can grow beyond 62 bits; narrow the bounds of its columns, or "
                "compute less in one expression."
            )

    @classmethod
    def constant(cls, value: Fraction) -> "Ranged":
        """A number that the question holds."""
        whole = value.numerator
        return cls(WholeSteps(whole), whole, whole, Fraction(1, value.denominator))

    def __add__(self, other: "Ranged") -> "Ranged":
        one, two = in_one_step([self, other])
        steps = SumSteps(one.steps, two.steps)
        rounding = one.rounding + two.rounding
        return Ranged(steps, one.low + two.low, one.high + two.high, one.step, rounding)

    def __mul__(self, other: "Ranged") -> "Ranged":
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        steps = ProductSteps(self.steps, other.steps)
        rounding = self.size * other.rounding + other.size * self.rounding
        rounding += self.rounding * other.rounding
        return Ranged(steps, min(ends), max(ends), self.step * other.step, rounding)

    def __sub__(self, other: "Ranged") -> "Ranged":
        return self + Ranged.constant(Fraction(-1)) * other

    @property
    def size(self) -> Fraction:
        """How far the number can lie from 0, in its own units."""
        return max(abs(self.low), abs(self.high)) * self.step

    def above(self, start: int) -> "Ranged":
        """The same number counted from ``start`` steps on."""
        steps = SumSteps(self.steps, WholeSteps(-start))
        low, high = self.low - start, self.high - start
        return Ranged(steps, low, high, self.step, self.rounding)

    def halved(self, times: int) -> "Ranged":
        """The same number, never below 0, in steps twice as large ``times`` times; to nearest.

        Example:
            >>> age = Ranged(WholeSteps(11), 0, 120, Fraction(1)).halved(3)
            >>> age.high, age.step, age.rounding
            (15, Fraction(8, 1), Fraction(4, 1))
        """
        if not times:
            return self
        half = 2 ** (times - 1)
        near = self.above(-half)
        rounding = self.rounding + half * self.step
        steps, step = HalvedSteps(near.steps, times), self.step * 2**times
        return Ranged(steps, near.low >> times, near.high >> times, step, rounding)

    def refined(self, step: Fraction) -> "Ranged":
        """The same number in smaller steps, of which its own is a multiple."""
        factor = int(self.step / step)
        if factor == 1:
            return self
        low, high = self.low * factor, self.high * factor
        match self.steps:
            case WholeSteps(None):
                return Ranged(self.steps, low, high, step, self.rounding)
            case WholeSteps(int() as whole):
                return Ranged(WholeSteps(whole * factor), low, high, step)
        steps = ProductSteps(WholeSteps(factor), self.steps)
        return Ranged(steps, low, high, step, self.rounding)


def in_one_step(values: list[Ranged]) -> list[Ranged]:
    """The same numbers in one step: the greatest that all of theirs are multiples of."""
    top = gcd(*(value.step.numerator for value in values))
    step = Fraction(top, lcm(*(value.step.denominator for value in values)))
    return [value.refined(step) for value in values]
