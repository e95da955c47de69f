"""Closed public intervals, and where the knowledge of them comes from."""

from dataclasses import dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import Self

from tacit.core.day import number_of
from tacit.errors import InvalidValue
from tacit.numeric.exact import Number, exact


class Provenance(Enum):
    """Where public knowledge about a column comes from.

    There is no fourth way: data is never read for it unpaid.
    """

    PUBLIC = "known without the data"
    POLICY = "set by the owner; values beyond are clamped"
    ESTIMATED = "released privately before, and paid for"


@dataclass(frozen=True, slots=True)
class Bounds:
    """A closed public interval. Values outside are clamped, never rejected.

    Example:
        >>> pay = Bounds.of(0, "250_000.50")
        >>> pay.clamp(Fraction(10**9)), pay.magnitude
        (Fraction(500001, 2), Fraction(500001, 2))
    """

    lower: Fraction
    upper: Fraction
    provenance: Provenance = Provenance.PUBLIC

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise InvalidValue(f"Bounds need lower <= upper, and {self.lower} > {self.upper}.")

    @classmethod
    def of(
        cls, lower: Number, upper: Number, provenance: Provenance = Provenance.PUBLIC
    ) -> Self:
        """Bounds from plain numbers."""
        return cls(exact(lower), exact(upper), provenance)

    @classmethod
    def days(cls, first: date, last: date, provenance: Provenance = Provenance.PUBLIC) -> Self:
        """Bounds of a column of days, both included.

        Example:
            >>> Bounds.days(date(2026, 1, 1), date(2026, 12, 31)).width
            Fraction(364, 1)
        """
        return cls(Fraction(number_of(first)), Fraction(number_of(last)), provenance)

    @property
    def width(self) -> Fraction:
        """How far two values can lie apart: what replacing one value can move a sum by."""
        return self.upper - self.lower

    @property
    def magnitude(self) -> Fraction:
        """How far a value can lie from zero: what adding one value can move a sum by."""
        return max(abs(self.lower), abs(self.upper))

    def clamp(self, value: Fraction) -> Fraction:
        """The nearest number inside."""
        return min(max(value, self.lower), self.upper)
