"""Integer arithmetic and conditions in the form that engines compute.

A number is a count of steps of a public grid (fixed-point arithmetic), in a range that is known
in advance. Columns are clamped to their bounds and rounded to steps; the rest is integer
arithmetic that fits in 64 bits. Engines therefore compute no floats, no division and nothing
that can overflow, and all of them return the same integers.

The file has the nodes of steps and conditions, then `Ranged`, which adds a proven range and the
size of a step, and then `ComputedColumn`, a column that a subquery computes.
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import exp, gcd, lcm, log, sqrt

from tacit.core import Column, Keys, Kind
from tacit.errors import InvalidValue
from tacit.numeric import Grid
from tacit.plan.expression import Comparison, DatePartName, Value

ROOM = 2**62
"""Bound on the size of every number of steps: it fits in 64 bits, and a sum over any table fits
in 128 bits."""


def check_size(number: int) -> None:
    """Refuse a number of more than 62 bits.

    An engine may read a constant only when a row reaches it. If it could not read it, a failure
    would tell of that row.
    """
    if abs(number) >= ROOM:
        raise InvalidValue(
            "This number can grow beyond 62 bits; narrow the bounds of its columns, or compute "
            "less in one expression."
        )


@dataclass(frozen=True, slots=True)
class ColumnSteps:
    """A column that is clamped to its bounds, in steps of its grid.

    A float that is not finite is NULL. Days are counted from 1970-01-01.
    """

    name: str
    kind: Kind
    grid: Grid


@dataclass(frozen=True, slots=True)
class ComputedSteps:
    """A column that a subquery has computed, and that contains steps already."""

    name: str


@dataclass(frozen=True, slots=True)
class WholeSteps:
    """A constant number of steps; None is NULL."""

    value: int | None

    def __post_init__(self) -> None:
        check_size(self.value or 0)


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
    """A number of steps that is at least 0, divided by 2**``times`` and rounded down."""

    steps: "Steps"
    times: int


@dataclass(frozen=True, slots=True)
class QuotientSteps:
    """A number of steps that is at least 0, divided by ``divisor`` and rounded down."""

    steps: "Steps"
    divisor: int

    def __post_init__(self) -> None:
        check_size(self.divisor)


@dataclass(frozen=True, slots=True)
class AbsoluteSteps:
    """The absolute value of a number of steps."""

    steps: "Steps"


@dataclass(frozen=True, slots=True)
class ExtremeSteps:
    """The greatest, or the least, of several numbers that are not NULL; NULL if all are."""

    greatest: bool
    parts: tuple["Steps", ...]


class Curve(Enum):
    """A function that engines compute with floats, with its name in SQL."""

    ROOT = "SQRT"
    LOGARITHM = "LN"
    EXPONENTIAL = "EXP"

    def of(self, number: float) -> float:
        """Return the function of ``number``, as a float."""
        match self:
            case Curve.ROOT:
                return sqrt(number)
            case Curve.LOGARITHM:
                return log(number)
            case Curve.EXPONENTIAL:
                return exp(number)


@dataclass(frozen=True, slots=True)
class CurveSteps:
    """A function of ``steps * unit``, in steps of ``1 / scale``, from ``low`` to ``high``.

    The result is NULL if there are fewer than ``least`` steps. Engines compute with
    floats of 64 bits, in this order: the steps times the unit, the function, times the scale,
    plus 1/2, rounded down. The unit and the scale are rounded to floats; the scale is a power
    of two. The mathematical libraries of two engines can differ in the last bit of a result,
    and so by one step; the range holds for all of them, because the result is clamped.
    """

    curve: Curve
    steps: "Steps"
    least: int
    unit: Fraction
    scale: Fraction
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class PartSteps:
    """A part of a clamped day, such as its month."""

    day: ColumnSteps
    part: DatePartName


@dataclass(frozen=True, slots=True)
class CaseSteps:
    """The steps of the first condition that is true, or else the steps ``otherwise``."""

    whens: tuple[tuple["Condition", "Steps"], ...]
    otherwise: "Steps"


@dataclass(frozen=True, slots=True)
class CompareColumn:
    """A comparison of a column, without clamping, with a constant of its kind.

    A float that is not finite is NULL.
    """

    comparison: Comparison
    name: str
    kind: Kind
    value: Value


@dataclass(frozen=True, slots=True)
class CompareColumns:
    """A comparison of two columns of one kind, without clamping."""

    comparison: Comparison
    left: str
    right: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class CompareSteps:
    """A comparison of two numbers with the same step."""

    comparison: Comparison
    left: "Steps"
    right: "Steps"


@dataclass(frozen=True, slots=True)
class StepsAreNull:
    """The condition that a number is NULL."""

    steps: "Steps"


@dataclass(frozen=True, slots=True)
class StepsOneOf:
    """The condition that a number is in a list of numbers with the same step."""

    steps: "Steps"
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        for value in self.values:
            check_size(value)


@dataclass(frozen=True, slots=True)
class ColumnOneOf:
    """The condition that a column, without clamping, is in a list."""

    name: str
    kind: Kind
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ColumnIsNull:
    """The condition that a column is NULL, or is a float that is not finite."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class ColumnIsTrue:
    """The condition that a Boolean column is true."""

    name: str


@dataclass(frozen=True, slots=True)
class ConstantCondition:
    """A condition that does not depend on the row; None is unknown."""

    truth: bool | None


@dataclass(frozen=True, slots=True)
class AllOf:
    """The condition that all of several conditions are true."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The condition that at least one of several conditions is true."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """The negation of a condition; unknown stays unknown."""

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
    | Negation
)
OfRow = ColumnSteps | ComputedSteps | WholeSteps | PartSteps
Functions = QuotientSteps | AbsoluteSteps | ExtremeSteps | CurveSteps
Steps = OfRow | SumSteps | ProductSteps | HalvedSteps | CaseSteps | Functions


# Steps with a range --------------------------------------------------------------------------
#
# Interval arithmetic over the expression proves, before any row is read, that no result and no
# intermediate result can overflow.


@dataclass(frozen=True, slots=True)
class Ranged:
    """Steps with the size of a step, and with a range that contains them for every row.

    ``rounding`` is the largest distance between the steps and the exact number, in units of the
    number; it comes from floats, which are rounded to their grid.

    Guarantee: for every row, the steps and all intermediate results are within their ranges,
    and every range is within 62 bits.

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
        check_size(self.low)
        check_size(self.high)

    @classmethod
    def constant(cls, value: Fraction) -> "Ranged":
        """Return a constant, in steps that represent it exactly."""
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
        """The largest absolute value of the number, in its own units."""
        return max(abs(self.low), abs(self.high)) * self.step

    def above(self, start: int) -> "Ranged":
        """Return this number minus ``start`` steps."""
        steps = SumSteps(self.steps, WholeSteps(-start))
        low, high = self.low - start, self.high - start
        return Ranged(steps, low, high, self.step, self.rounding)

    def coarsen(self, times: int) -> "Ranged":
        """Return this number, which is at least 0, rounded to coarser steps.

        A step becomes 2**``times`` times as large.

        Example:
            >>> age = Ranged(WholeSteps(11), 0, 120, Fraction(1)).coarsen(3)
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

    def refine(self, step: Fraction) -> "Ranged":
        """Return this number in smaller steps; its own step must be a multiple of ``step``."""
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
    """Return the numbers in one common step: the largest that divides each of their steps."""
    top = gcd(*(value.step.numerator for value in values))
    step = Fraction(top, lcm(*(value.step.denominator for value in values)))
    return [value.refine(step) for value in values]


# Columns that a subquery computes ------------------------------------------------------------

MOST_KEYS = 200
"""Largest number of integers in a range for which each integer can be a group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedColumn(Column):
    """A column that a subquery computes for each unit; ``value`` has its steps and range."""

    value: Ranged

    @classmethod
    def of(cls, name: str, value: Ranged) -> "ComputedColumn":
        """Return the column that contains ``value``; its kind follows from its steps.

        Example:
            >>> from fractions import Fraction
            >>> from tacit.plan.steps import ComputedSteps
            >>> visits = Ranged(ComputedSteps("below.visits"), 1, 3, Fraction(1))
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


# Columns that cannot be NULL -----------------------------------------------------------------


def non_null_columns(condition: Condition) -> frozenset[str]:
    """Return the columns that ``condition`` requires not to be NULL, by an IS NOT NULL.

    Only tests that are joined by AND are considered; the result may miss columns.

    Example:
        >>> from tacit.core.domain import Kind
        >>> known = Negation(ColumnIsNull("people.age", Kind.INTEGER))
        >>> sorted(non_null_columns(AllOf((known, AllOf(())))))
        ['people.age']
        >>> non_null_columns(Negation(known))
        frozenset()
    """
    match condition:
        case AllOf(parts):
            return frozenset[str]().union(*map(non_null_columns, parts))
        case Negation(ColumnIsNull(name, _)):
            return frozenset({name})
        case _:
            return frozenset()
