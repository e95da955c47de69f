"""One column of a private table, as far as the public knows it."""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from tacit.core.bounds import Bounds
from tacit.core.day import FIRST, LAST
from tacit.core.keys import Keys
from tacit.errors import InvalidValue, MissingBound
from tacit.numeric.grid import Grid


class Kind(Enum):
    """What a column holds, on every engine."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True, slots=True)
class Column:
    """A name, a kind, and what is publicly known of the values.

    Bounds, keys, the step of a decimal.

    Example:
        >>> Column("age", Kind.INTEGER, bounds=Bounds.of(0, 120)).grid().highest
        120
    """

    name: str
    kind: Kind
    bounds: Bounds | None = None
    keys: Keys | None = None
    step: Fraction | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidValue("A column needs a name.")
        if self.bounds is not None and self.kind in {Kind.TEXT, Kind.BOOLEAN}:
            raise InvalidValue(
                f"Column {self.name!r} holds {self.kind.value}s, which have keys, not bounds."
            )
        if (self.step is not None) != (self.kind is Kind.DECIMAL) or (
            self.step is not None and self.step <= 0
        ):
            raise InvalidValue(
                f"Column {self.name!r}: a decimal column, and no other, has a step, above 0."
            )

        if self.bounds is not None and self.kind is Kind.DATE:
            ends = self.bounds.lower, self.bounds.upper
            if any(end.denominator != 1 or not FIRST <= end <= LAST for end in ends):
                raise InvalidValue(
                    f"Column {self.name!r}: bounds of days are whole days of the years 1 to "
                    "9999; write Bounds.days(date(2020, 1, 1), date(2029, 12, 31))."
                )

    def grid(self) -> Grid:
        """The integers that this column becomes before anything is summed."""
        if self.kind in {Kind.TEXT, Kind.BOOLEAN}:
            raise InvalidValue(
                f"Column {self.name!r} holds {self.kind.value}s, which have no sum."
            )
        if self.bounds is None:
            days = "days(date(2020, 1, 1), date(2029, 12, 31))"
            example = days if self.kind is Kind.DATE else "of(0, 100)"
            raise MissingBound(
                f"Column {self.name!r} has no bounds; declare them, such as "
                f"Column({self.name!r}, ..., bounds=Bounds.{example})."
            )
        lower, upper = self.bounds.lower, self.bounds.upper
        if self.kind is Kind.FLOAT:
            return Grid.fine(lower, upper)
        return Grid(lower, upper, step=self.step or Fraction(1))
