"""Expressions over the columns of one row, and the calendar functions that they use.

All expressions are total functions: none of them can fail for any content of a row, so that an
error never reveals a value. NULL follows SQL: a comparison with NULL is unknown, and a row for
which a condition is unknown is not selected.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from tacit.errors import InvalidValue

# Calendar ------------------------------------------------------------------------------------


class DatePartName(Enum):
    """A part of a date or a time, with its name in SQL."""

    YEAR = "YEAR"
    QUARTER = "QUARTER"
    MONTH = "MONTH"
    DAY = "DAY"
    WEEKDAY = "DOW"
    ISO_WEEKDAY = "ISODOW"
    DAY_OF_YEAR = "DOY"
    WEEK = "WEEK"
    ISO_YEAR = "ISOYEAR"
    DECADE = "DECADE"
    CENTURY = "CENTURY"
    MILLENNIUM = "MILLENNIUM"
    HOUR = "HOUR"
    MINUTE = "MINUTE"

    @property
    def is_of_time(self) -> bool:
        """Whether only a timestamp has this part."""
        return self in {DatePartName.HOUR, DatePartName.MINUTE}

    def of(self, day: date) -> int:
        """Return this part of ``day``. The weekday of Sunday is 0, and 7 by ISO 8601.

        Weeks are those of ISO 8601: the week of a day belongs to the year of its Thursday. A
        date without a time starts at 0 o'clock.

        Example:
            >>> [part.of(datetime(2026, 5, 31, 23, 59)) for part in DatePartName]
            [2026, 2, 5, 31, 0, 7, 151, 22, 2026, 202, 21, 3, 23, 59]
        """
        return _part_of(self, day)

    @property
    def grows(self) -> bool:
        """Whether the part never decreases from one day to the next, as a year does."""
        return self not in _RECURRING

    def reach(self, first: date, last: date) -> tuple[int, int]:
        """Return bounds of this part for days from ``first`` to ``last``."""
        return _RECURRING.get(self) or (_part_of(self, first), _part_of(self, last))


def _part_of(part: DatePartName, day: date) -> int:
    match part:
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
        case DatePartName.ISO_WEEKDAY:
            return day.isoweekday()
        case DatePartName.DAY_OF_YEAR:
            return day.timetuple().tm_yday
        case DatePartName.WEEK:
            return day.isocalendar().week
        case DatePartName.ISO_YEAR:
            return day.isocalendar().year
        case DatePartName.DECADE:
            return day.year // 10
        case DatePartName.CENTURY:
            return (day.year + 99) // 100
        case DatePartName.MILLENNIUM:
            return (day.year + 999) // 1000
        case DatePartName.HOUR:
            return day.hour if isinstance(day, datetime) else 0
        case DatePartName.MINUTE:
            return day.minute if isinstance(day, datetime) else 0


_RECURRING: dict[DatePartName, tuple[int, int]] = {
    DatePartName.QUARTER: (1, 4),
    DatePartName.MONTH: (1, 12),
    DatePartName.DAY: (1, 31),
    DatePartName.WEEKDAY: (0, 6),
    DatePartName.ISO_WEEKDAY: (1, 7),
    DatePartName.DAY_OF_YEAR: (1, 366),
    DatePartName.WEEK: (1, 53),
    DatePartName.HOUR: (0, 23),
    DatePartName.MINUTE: (0, 59),
}
"""The parts that start again, with the range that each has in every year."""


class Span(Enum):
    """The length of a period, with its name in SQL. Weeks start on Monday."""

    YEARS = "YEAR"
    QUARTERS = "QUARTER"
    MONTHS = "MONTH"
    WEEKS = "WEEK"
    DAYS = "DAY"

    def start(self, day: date) -> date:
        """Return the first day of the period that contains ``day``.

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
        """Yield the first day of each period between the periods of ``first`` and ``last``.

        Both of these periods are included.

        Example:
            >>> len(list(Span.WEEKS.starts(date(2026, 1, 1), date(2026, 12, 31))))
            53
        """
        start, end = self.start(first), self.start(last)
        while start < end:
            yield start
            # no period is longer than this, and none is shorter than half of it, so that the
            # sum is a day of the next period and not of a later one
            start = self.start(start + timedelta(days=self.longest))
        yield end

    @property
    def longest(self) -> int:
        """The number of days of the longest period of this span."""
        return {"YEAR": 366, "QUARTER": 92, "MONTH": 31, "WEEK": 7, "DAY": 1}[self.value]


# Expressions ---------------------------------------------------------------------------------

Value = bool | int | Fraction | str | date
"""The types of constants that an analyst may write; a `datetime` is a date too."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column of the relation, by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant that is written in the question; None is NULL."""

    value: Value | None


class Comparison(Enum):
    """A comparison operator of SQL."""

    EQUAL = "="
    UNEQUAL = "<>"
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="

    def holds(self, left: Any, right: Any) -> bool:
        """Return whether ``left`` and ``right``, which are not NULL, compare in this way."""
        return bool(_FUNCTIONS[self](left, right))

    @property
    def mirrored(self) -> "Comparison":
        """The comparison that is equivalent when its two sides are exchanged."""
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
    """A comparison of two values; unknown if one of them is NULL."""

    comparison: Comparison
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class OneOf:
    """The condition that a value is in a list of constants without NULL: ``IN``.

    It is unknown if the value is NULL.
    """

    part: "Expression"
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise InvalidValue("IN needs at least one value.")


@dataclass(frozen=True, slots=True)
class Like:
    """The condition that a value is one of its column's declared keys that match ``pattern``.

    % matches any text, and _ matches one character. The condition is unknown if the value is
    NULL.
    """

    part: "Expression"
    pattern: str


@dataclass(frozen=True, slots=True)
class IsNull:
    """The condition that a value is NULL."""

    part: "Expression"


@dataclass(frozen=True, slots=True)
class And:
    """The condition that all of several conditions are true."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """The condition that at least one of several conditions is true."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a condition; unknown stays unknown."""

    part: "Expression"


class Operation(Enum):
    """An arithmetic operation that cannot fail, unlike division."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Arithmetic with two numbers; the result is NULL if one of them is NULL.

    Columns are clamped to their bounds first, so that the range of the result is known.
    """

    operation: Operation
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Divide:
    """A quotient; NULL if the divisor is 0.

    Values of rows can be divided only by a constant that is not 0, and the quotient is exact.
    """

    left: "Expression"
    right: "Expression"


class Function(Enum):
    """A function of values of a row, with its name in SQL.

    Functions of numbers are total: their results have ranges that follow from the ranges of
    their arguments, and a logarithm or a root outside its domain is NULL. Functions of texts
    are computed for declared keys before the question runs; no engine computes them.
    """

    ABS = "ABS"
    FLOOR = "FLOOR"
    CEIL = "CEIL"
    ROUND = "ROUND"
    TRUNCATE = "TRUNC"
    INTEGER = "CAST AS INTEGER"
    GREATEST = "GREATEST"
    LEAST = "LEAST"
    POWER = "POWER"
    SQRT = "SQRT"
    LN = "LN"
    EXP = "EXP"
    UPPER = "UPPER"
    LOWER = "LOWER"
    ASCII_LOWER = "ILIKE"
    TRIM = "TRIM"
    TRIM_LEFT = "LTRIM"
    TRIM_RIGHT = "RTRIM"
    SUBSTRING = "SUBSTRING"
    CONCAT = "CONCAT"
    JOIN = "||"

    @property
    def of_text(self) -> bool:
        """Whether the function returns a text."""
        return self in _OF_TEXT


_OF_TEXT = frozenset(
    {
        Function.UPPER,
        Function.LOWER,
        Function.ASCII_LOWER,
        Function.TRIM,
        Function.TRIM_LEFT,
        Function.TRIM_RIGHT,
        Function.SUBSTRING,
        Function.CONCAT,
        Function.JOIN,
    }
)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function of values of a row; NULL if an argument is NULL.

    GREATEST, LEAST and CONCAT ignore arguments that are NULL.
    """

    function: Function
    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Bin:
    """The start of the bin that contains a number.

    Bins are ``width`` wide, and one starts at 0. A `Bin` can only be a group key; the groups
    are the bins between the bounds of the number.
    """

    part: "Expression"
    width: int

    def __post_init__(self) -> None:
        if self.width < 1:
            raise InvalidValue(f"The width of a bin must be at least 1, not {self.width}.")


@dataclass(frozen=True, slots=True)
class DatePart:
    """A part of a date or timestamp.

    The value is clamped to the bounds of its column, which are days, or to years 1 to 9999.
    """

    part: DatePartName
    day: "Expression"


@dataclass(frozen=True, slots=True)
class Period:
    """The first day of the period that contains a day: ``DATE_TRUNC``.

    The day is clamped to the bounds of its column or to years 1 to 9999. A `Period` can only be
    a group key, except for the span of days: that is ``CAST(... AS DATE)``, which can also be
    compared.
    """

    span: Span
    day: "Expression"


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first condition that is true, or else the value ``otherwise``."""

    whens: tuple[tuple["Expression", "Expression"], ...]
    otherwise: "Expression"


# Functions of released values ----------------------------------------------------------------
#
# They compute with an answer, never with rows, so that no engine evaluates them.


class ReleasedFunction(Enum):
    """A function of released values, with its name in SQL."""

    ROUND = "ROUND"
    FLOOR = "FLOOR"
    CEIL = "CEIL"
    ABS = "ABS"
    COALESCE = "COALESCE"
    NULLIF = "NULLIF"


@dataclass(frozen=True, slots=True)
class OfReleased:
    """The result of a function for released values of one row of an answer.

    ROUND has one or two ``parts``: the number, and how many digits are kept after the point.
    Halves are rounded away from 0.
    """

    function: ReleasedFunction
    parts: tuple["Expression", ...]


class WindowFunction(Enum):
    """A function of several rows of an answer, with its name in SQL."""

    SUM = "SUM"
    MEAN = "AVG"
    COUNT = "COUNT"
    LEAST = "MIN"
    GREATEST = "MAX"
    ROW_NUMBER = "ROW_NUMBER"
    RANK = "RANK"
    DENSE_RANK = "DENSE_RANK"
    EARLIER = "LAG"
    LATER = "LEAD"


@dataclass(frozen=True, slots=True)
class SortKey:
    """A value by which rows are sorted; NULL comes last, unless ``nulls_first``."""

    part: "Expression"
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class WindowValue:
    """A function of all rows of an answer that agree with a row in ``partition``: ``OVER``.

    With ``order``, SUM, AVG, COUNT, MIN and MAX are about the rows up to this one and about
    those that are equal to it in the order; without, they are about all rows. A ``frame`` of
    (2, 0) is about the row, and the two rows before it; None instead of a number has no limit.
    LAG and LEAD return the value of the row that is ``offset`` rows before or after.
    """

    function: WindowFunction
    part: "Expression | None" = None
    partition: tuple["Expression", ...] = ()
    order: tuple[SortKey, ...] = ()
    offset: int = 1
    frame: tuple[int | None, int | None] | None = None


Truth = Compare | OneOf | Like | IsNull | And | Or | Not
Computed = Arithmetic | Divide | FunctionCall | Bin | DatePart | Period | Case
AfterRelease = OfReleased | WindowValue
RowValue = Field | Constant | Truth | Computed
Expression = RowValue | AfterRelease
