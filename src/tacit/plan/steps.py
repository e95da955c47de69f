"""Numbers as engines compute them: whole steps of a public grid, in ranges known beforehand.

An engine never sees a float, a division or a number whose range is not proved: columns are
clamped to their bounds and counted in steps, and the rest is integer arithmetic that 64 bits
hold.
"""

from dataclasses import dataclass

from tacit.core.column import Kind
from tacit.numeric.grid import Grid
from tacit.plan.calendar import Part
from tacit.plan.expression import Comparison, Value


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
    part: Part


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
class Known:
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
    | Known
    | AllOf
    | AnyOf
    | NotSo
)
OfRow = ColumnSteps | HeldSteps | WholeSteps | PartSteps
Steps = OfRow | SumSteps | ProductSteps | HalvedSteps | CaseSteps
