"""What an analyst may compute from the columns of one row: total functions, and no others.

None of these can fail, whatever a row holds, so that no row can be told by its error. NULL is
carried as SQL carries it: a comparison with NULL is unknown, and what is unknown is not true.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from tacit.errors import InvalidValue
from tacit.plan.calendar import Part, Span

Value = bool | int | Fraction | str | date
"""What an analyst may write: truth, a number, text or a day."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column of the relation below, by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that the question holds; None is NULL."""

    value: Value | None


class Comparison(Enum):
    """How two values are compared."""

    EQUAL = "="
    UNEQUAL = "<>"
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="

    def holds(self, left: Any, right: Any) -> bool:
        """Whether two values that can be compared stand in this relation."""
        return bool(_FUNCTIONS[self](left, right))

    @property
    def mirrored(self) -> "Comparison":
        """The same comparison with its sides exchanged."""
        return Comparison(self.value.translate(str.maketrans("<>", "><")).replace("><", "<>"))


_FUNCTIONS: dict[Comparison, Callable[[Any, Any], Any]] = {
    Comparison.EQUAL: eq,
    Comparison.UNEQUAL: ne,
    Comparison.LESS: lt,
    Comparison.AT_MOST: le,
    Comparison.MORE: gt,
    Comparison.AT_LEAST: ge,
}


@dataclass(frozen=True, slots=True)
class Compare:
    """Whether two values stand in a relation; unknown where one is NULL."""

    comparison: Comparison
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class OneOf:
    """Whether a value is one of a public list, without NULL; unknown where it is NULL."""

    part: "Expression"
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise InvalidValue("IN needs at least one value.")


@dataclass(frozen=True, slots=True)
class Like:
    """Whether a value is one of its column's declared keys that look like ``pattern``.

    % stands for any text, _ for one character. Unknown where the value is NULL.
    """

    part: "Expression"
    pattern: str


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether a value is NULL."""

    part: "Expression"


@dataclass(frozen=True, slots=True)
class And:
    """Whether all of several conditions hold."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Whether one of several conditions holds."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Whether a condition does not hold."""

    part: "Expression"


class Operation(Enum):
    """Arithmetic that cannot fail."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two numbers in, one out; NULL where one is NULL.

    A column stands for its value clamped to its bounds here, so that its range is known.
    """

    operation: Operation
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Divide:
    """A quotient of released values, NULL where the divisor is 0; rows are not divided."""

    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Bin:
    """Where the bin starts that a number lies in: bins are ``width`` wide, and one starts at 0.

    It names groups alone: its bins are those that the number's bounds reach.
    """

    part: "Expression"
    width: int

    def __post_init__(self) -> None:
        if self.width < 1:
            raise InvalidValue(f"A bin is a whole number wide, from 1 on, not {self.width}.")


@dataclass(frozen=True, slots=True)
class DatePart:
    """A part of a day, which is clamped to the bounds of its column, or to years 1 to 9999."""

    part: Part
    day: "Expression"


@dataclass(frozen=True, slots=True)
class Period:
    """Where the period starts that a day, clamped likewise, lies in. It names groups alone."""

    span: Span
    day: "Expression"


@dataclass(frozen=True, slots=True)
class Case:
    """The value beside the first condition that holds, or else another."""

    whens: tuple[tuple["Expression", "Expression"], ...]
    otherwise: "Expression"


Truth = Compare | OneOf | Like | IsNull | And | Or | Not
Expression = Field | Constant | Truth | Arithmetic | Divide | Bin | DatePart | Period | Case
