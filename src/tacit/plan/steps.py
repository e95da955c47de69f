"""Numbers as engines compute them: whole steps of a public grid, in ranges known beforehand.

An engine never sees a float, a division or a number whose range is not proved: columns are
clamped to their bounds and counted in steps, and the rest is integer arithmetic that 64 bits
hold.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from tacit.core import Column, Keys, Kind
from tacit.errors import InvalidValue
from tacit.numeric import Grid
from tacit.plan.expression import Comparison, DatePartName, Value


@dataclass(frozen=True, slots=True)
class ColumnSteps:
    """A column clamped to its bounds, in steps of its grid; what is no number is NULL.

    Days are counted from 1970-01-01 on.
    """

    name: str
    kind: Kind
    grid: Grid


@dataclass(frozen=True, slots=True)
class HeldSteps:
    """A column that holds steps already, in the range that they were gathered in."""

    name: str


@dataclass(frozen=True, slots=True)
class WholeSteps:
    """A constant number of steps; None is NULL."""

    value: int | None


@dataclass(frozen=True, slots=True)
class SumSteps:
    """The sum of two numbers of steps."""

    left: "Steps"
    right: "Steps"


@dataclass(frozen=True, slots=True)
class ProductSteps:
    """The product of two numbers of steps."""

    left: "Steps"
    right: "Steps"


@dataclass(frozen=True, slots=True)
class HalvedSteps:
    """A number of steps, never below 0, halved ``times`` times and rounded down."""

    steps: "Steps"
    times: int


@dataclass(frozen=True, slots=True)
class PartSteps:
    """A part of a clamped day."""

    day: ColumnSteps
    part: DatePartName


@dataclass(frozen=True, slots=True)
class CaseSteps:
    """The steps beside the first condition that holds, or else others."""

    whens: tuple[tuple["Condition", "Steps"], ...]
    otherwise: "Steps"


@dataclass(frozen=True, slots=True)
class CompareColumn:
    """A column as it is, beside a constant of its kind; a float that is not finite is NULL."""

    comparison: Comparison
    name: str
    kind: Kind
    value: Value


@dataclass(frozen=True, slots=True)
class CompareColumns:
    """Two columns of one kind as they are."""

    comparison: Comparison
    left: str
    right: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class CompareSteps:
    """Two numbers of equal steps."""

    comparison: Comparison
    left: "Steps"
    right: "Steps"


@dataclass(frozen=True, slots=True)
class StepsAreNull:
    """Whether a number is NULL."""

    steps: "Steps"


@dataclass(frozen=True, slots=True)
class StepsOneOf:
    """Whether a number is one of a list of equal steps."""

    steps: "Steps"
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ColumnOneOf:
    """Whether a column is one of a list."""

    name: str
    kind: Kind
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ColumnIsNull:
    """Whether a column is NULL, or a float that is not finite."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class ColumnIsTrue:
    """A column of truths."""

    name: str


@dataclass(frozen=True, slots=True)
class ConstantCondition:
    """A condition that does not depend on the row; None is unknown."""

    truth: bool | None


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of several conditions."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of several conditions."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class NotSo:
    """The opposite; unknown stays unknown."""

    part: "Condition"


Condition = (
    CompareColumn
    | CompareColumns
    | CompareSteps
    | StepsAreNull
    | StepsOneOf
    | ColumnOneOf
    | ColumnIsNull
    | ColumnIsTrue
    | ConstantCondition
    | AllOf
    | AnyOf
    | NotSo
)
OfRow = ColumnSteps | HeldSteps | WholeSteps | PartSteps
Steps = OfRow | SumSteps | ProductSteps | HalvedSteps | CaseSteps


# ------------------------------------------------------------------ ranged
# Steps whose range is known, whatever the rows hold: what makes overflow impossible.

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


# ------------------------------------------------------------------ held
# A number that was computed for each unit: engines hold it in steps, within its range.

MOST_KEYS = 200
"""Whole numbers of a range that is short enough for each to be a group of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedColumn(Column):
    """A column of such numbers; ``value`` is one, with the range that it never leaves."""

    value: Ranged

    @classmethod
    def of(cls, name: str, value: Ranged) -> "ComputedColumn":
        """The column that holds ``value``: its kind follows from the steps.

        Example:
            >>> from fractions import Fraction
            >>> from tacit.plan.steps import HeldSteps
            >>> visits = Ranged(HeldSteps("below.visits"), 1, 3, Fraction(1))
            >>> ComputedColumn.of("below.visits", visits).keys.values
            (1, 2, 3)
        """
        if value.rounding:
            return cls(name, Kind.FLOAT, value=value)
        if value.step != 1:
            return cls(name, Kind.DECIMAL, step=value.step, value=value)
        short = value.high - value.low < MOST_KEYS
        keys = Keys(tuple(range(value.low, value.high + 1))) if short else None
        return cls(name, Kind.INTEGER, keys=keys, value=value)


# ------------------------------------------------------------------ columns there
# Which columns a condition is about: those that hold a value wherever it is true.


def columns_there(condition: Condition) -> frozenset[str]:
    """The columns that no kept row lacks: each is asked for by itself, and all must hold.

    Example:
        >>> from tacit.core.domain import Kind
        >>> there = NotSo(ColumnIsNull("people.age", Kind.INTEGER))
        >>> sorted(columns_there(AllOf((there, AllOf(())))))
        ['people.age']
        >>> columns_there(NotSo(there))
        frozenset()
    """
    match condition:
        case AllOf(parts):
            return frozenset[str]().union(*map(columns_there, parts))
        case NotSo(ColumnIsNull(name, _)):
            return frozenset({name})
        case _:
            return frozenset()
