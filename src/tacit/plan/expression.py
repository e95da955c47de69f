"""The calendar, which is public: what parts a day has, and in which periods it lies."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from tacit.errors import InvalidValue


class DatePartName(Enum):
    """A number that a day has, named as SQL names it."""

    YEAR = "YEAR"
    QUARTER = "QUARTER"
    MONTH = "MONTH"
    DAY = "DAY"
    WEEKDAY = "DOW"

    def of(self, day: date) -> int:
        """This part of ``day``; Sunday is 0 of its week.

        Example:
            >>> [part.of(date(2026, 5, 31)) for part in DatePartName]
            [2026, 2, 5, 31, 0]
        """
        match self:
            case DatePartName.YEAR:
                return day.year
            case DatePartName.QUARTER:
                return (day.month + 2) // 3
            case DatePartName.MONTH:
                return day.month
            case DatePartName.DAY:
                return day.day
            case DatePartName.WEEKDAY:
                return day.isoweekday() % 7

    def reach(self, first: date, last: date) -> tuple[int, int]:
        """The least and the greatest that this part can be of the days between two."""
        match self:
            case DatePartName.YEAR:
                return first.year, last.year
            case DatePartName.QUARTER:
                return 1, 4
            case DatePartName.MONTH:
                return 1, 12
            case DatePartName.DAY:
                return 1, 31
            case DatePartName.WEEKDAY:
                return 0, 6


class Span(Enum):
    """How long periods are, named as SQL names them; weeks start on Monday."""

    YEARS = "YEAR"
    QUARTERS = "QUARTER"
    MONTHS = "MONTH"
    WEEKS = "WEEK"
    DAYS = "DAY"

    def start(self, day: date) -> date:
        """The first day of the period that ``day`` lies in.

        Example:
            >>> [span.start(date(2026, 5, 31)).isoformat()[5:] for span in Span]
            ['01-01', '04-01', '05-01', '05-25', '05-31']
        """
        match self:
            case Span.YEARS:
                return day.replace(month=1, day=1)
            case Span.QUARTERS:
                return day.replace(month=3 * DatePartName.QUARTER.of(day) - 2, day=1)
            case Span.MONTHS:
                return day.replace(day=1)
            case Span.WEEKS:
                return day - timedelta(days=day.weekday())
            case Span.DAYS:
                return day

    def starts(self, first: date, last: date) -> Iterator[date]:
        """The first days of all periods from that of ``first`` to that of ``last``.

        Example:
            >>> len(list(Span.WEEKS.starts(date(2026, 1, 1), date(2026, 12, 31))))
            53
        """
        start, end = self.start(first), self.start(last)
        while start < end:
            yield start
            # a period has at most as many days, and the one after it begins within them
            start = self.start(start + timedelta(days=self.longest))
        yield end

    @property
    def longest(self) -> int:
        """The days of the longest such period, by which the next is reached and not passed."""
        return {"YEAR": 366, "QUARTER": 92, "MONTH": 31, "WEEK": 7, "DAY": 1}[self.value]


# ------------------------------------------------------------------ expression
# What an analyst may compute from the columns of one row: total functions, and no others.
#
# None of these can fail, whatever a row holds, so that no row can be told by its error. NULL
# is carried as SQL carries it: a comparison with NULL is unknown, and what is unknown is not
# true.

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

    part: DatePartName
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
