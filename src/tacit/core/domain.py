"""The public description of a table's columns: kinds, bounds, keys and the schema.

Days are whole numbers in bounds and engines: the number of days since 1970-01-01.
"""

import re
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import Self

from tacit.core.contributions import TotalProfile
from tacit.core.zones import changes_of
from tacit.errors import InvalidValue, MissingBound, UnknownName
from tacit.numeric import Grid, Number, exact

EPOCH = date(1970, 1, 1)
"""The day whose number is 0."""


def number_of(day: date) -> int:
    """Return the number of days from 1970-01-01 to ``day``.

    Example:
        >>> number_of(date(1970, 1, 31)), number_of(date(1969, 12, 31))
        (30, -1)
    """
    return day.toordinal() - EPOCH.toordinal()


def day_of(number: int) -> date:
    """Return the day of that number; this is the inverse of `number_of`."""
    return date.fromordinal(number + EPOCH.toordinal())


FIRST, LAST = number_of(date.min), number_of(date.max)
"""The first and the last supported day, in the years 1 to 9999; other days are clamped."""


# ------------------------------------------------------------------ bounds


class Provenance(Enum):
    """The source of public knowledge about a column.

    There is no other source: data is never read for it without a charge.
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
        """Return bounds from plain numbers."""
        return cls(exact(lower), exact(upper), provenance)

    @classmethod
    def days(cls, first: date, last: date, provenance: Provenance = Provenance.PUBLIC) -> Self:
        """Return bounds of a column of days, both inclusive.

        Example:
            >>> Bounds.days(date(2026, 1, 1), date(2026, 12, 31)).width
            Fraction(364, 1)
        """
        return cls(Fraction(number_of(first)), Fraction(number_of(last)), provenance)

    @property
    def width(self) -> Fraction:
        """The largest difference of two values: the change of a sum when one is replaced."""
        return self.upper - self.lower

    @property
    def magnitude(self) -> Fraction:
        """The largest absolute value: the change of a sum when one value is added."""
        return max(abs(self.lower), abs(self.upper))

    def clamp(self, value: Fraction) -> Fraction:
        """Return the nearest number inside of the bounds."""
        return min(max(value, self.lower), self.upper)


# ------------------------------------------------------------------ keys

Key = str | int
"""One value of a group key; dates are written as ISO 8601 text."""

Group = tuple[Key, ...]
"""The values of a group's keys, in the order of the question."""


@dataclass(frozen=True, slots=True)
class Keys:
    """A public list of key values, in the order in which groups are shown.

    Every key appears in an answer, with or without rows. If the keys are ``complete``, it is
    public that every row has one of them; then no row is missing because of its key. This
    changes no price and no noise.

    Example:
        >>> Keys(("north", "south")).values
        ('north', 'south')
    """

    values: tuple[Key, ...]
    provenance: Provenance = Provenance.PUBLIC
    complete: bool = False

    def __post_init__(self) -> None:
        if not self.values:
            raise InvalidValue(
                "Keys need at least one value; leave keys out if they are not public."
            )
        if len(set(self.values)) != len(self.values):
            raise InvalidValue(
                f"Keys must be distinct, but some of these {len(self.values)} are equal."
            )
        if {type(value) for value in self.values} not in ({str}, {int}):
            raise InvalidValue("Keys must be all text or all integers, but these are not.")


# ------------------------------------------------------------------ column


class Kind(Enum):
    """The type of a column, which is the same on every engine."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"


DAYS = {Kind.DATE, Kind.TIMESTAMP}
"""The kinds whose bounds are days."""


class StoredAs(Enum):
    """A stored type of a column that is converted to its kind whenever it is read.

    A column that is stored in a type of its own kind has none of these.
    """

    UUID = "uuid"
    CHAR = "char"
    ENUM = "enum"
    MONEY = "money"
    NUMERIC = "numeric"

    @property
    def kind(self) -> Kind:
        """The kind of the columns that can be stored in this type.

        Example:
            >>> StoredAs.UUID.kind, StoredAs.MONEY.kind
            (<Kind.TEXT: 'text'>, <Kind.DECIMAL: 'decimal'>)
        """
        numbers = {StoredAs.MONEY, StoredAs.NUMERIC}
        return Kind.DECIMAL if self in numbers else Kind.TEXT

    def can_hold(self, key: Key) -> bool:
        """Return whether a column of this type can have the value ``key``, once it is read.

        Example:
            >>> StoredAs.CHAR.can_hold("ab "), StoredAs.ENUM.can_hold("ab ")
            (False, True)
        """
        match self:
            case StoredAs.UUID:
                return isinstance(key, str) and CANONICAL_UUID.fullmatch(key) is not None
            case StoredAs.CHAR:
                return not str(key).endswith(" ")
            case _:
                return True


CANONICAL_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The form in which UUIDs are read: lower-case, with hyphens."""


@dataclass(frozen=True, slots=True)
class Column:
    """The public description of a column: its name, its kind and facts about its values.

    The facts are bounds, keys, and the step of a decimal column. In a SUM of the column, the
    total of one unit in a group is clamped to ``max_total``, above and below 0. A
    ``total_profile`` bounds the number of units with a larger total. ``stored`` is the type of
    a column that is converted when it is read. ``zone`` is the time zone whose local time the
    values of a column of instants (timestamps with a time zone) are read in.

    Example:
        >>> Column("age", Kind.INTEGER, bounds=Bounds.of(0, 120)).grid().highest
        120
    """

    name: str
    kind: Kind
    bounds: Bounds | None = None
    keys: Keys | None = None
    step: Fraction | None = None
    max_total: Fraction | None = None
    total_profile: TotalProfile | None = None
    stored: StoredAs | None = None
    zone: str | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidValue("A column needs a name, such as 'age'.")
        self._check_stored()
        if self.max_total is not None and (
            self.max_total <= 0 or self.bounds is None or self.kind in DAYS
        ):
            raise InvalidValue(
                f"Column {self.name!r}: max_total must be above 0, for a column of numbers "
                "with bounds."
            )
        if self.bounds is not None and self.kind in {Kind.TEXT, Kind.BOOLEAN}:
            raise InvalidValue(
                f"Column {self.name!r} holds {self.kind.value}s, which have keys, not bounds. "
                "Declare keys."
            )
        if (self.step is not None) != (self.kind is Kind.DECIMAL) or (
            self.step is not None and self.step <= 0
        ):
            raise InvalidValue(
                f"Column {self.name!r}: a decimal column must have a step above 0, and other "
                "columns must not have a step."
            )

        if self.bounds is not None and self.kind in DAYS:
            ends = self.bounds.lower, self.bounds.upper
            if any(end.denominator != 1 or not FIRST <= end <= LAST for end in ends):
                raise InvalidValue(
                    f"Column {self.name!r}: bounds of days must be whole days of the years 1 "
                    "to 9999. Write Bounds.days(date(2020, 1, 1), date(2029, 12, 31))."
                )

    def _check_stored(self) -> None:
        """Refuse a stored type or a zone that does not belong to the kind."""
        if self.stored is not None and self.stored.kind is not self.kind:
            raise InvalidValue(
                f"Column {self.name!r} is stored as {self.stored.value}, which is read as "
                f"{self.stored.kind.value}. Declare the kind {self.stored.kind.value!r}."
            )
        for key in () if self.keys is None else self.keys.values:
            if self.stored is not None and not self.stored.can_hold(key):
                raise InvalidValue(
                    f"Column {self.name!r}: no row can have the key {key!r}, because UUIDs are "
                    "read in lower case with hyphens, and char without blanks at its end. "
                    "Write the key in that form."
                )
        if self.zone is not None:
            if self.kind is not Kind.TIMESTAMP:
                raise InvalidValue(
                    f"Column {self.name!r} is a {self.kind.value} column, and only a timestamp "
                    "column has a zone. Leave out the zone."
                )
            changes_of(self.zone)  # refuses an unknown zone

    @property
    def copied(self) -> "Column":
        """The column in a validated copy, in which it is stored in a type of its kind."""
        return replace(self, stored=None, zone=None)

    def grid(self) -> Grid:
        """Return the grid that maps the values of this column to integers for sums.

        The grid of a column of dates or timestamps is one of days.
        """
        if self.kind in {Kind.TEXT, Kind.BOOLEAN}:
            raise InvalidValue(
                f"Column {self.name!r} holds {self.kind.value}s, and this needs numbers or "
                "days. Choose such a column, or ask for COUNT(*) with GROUP BY."
            )
        if self.bounds is None:
            days = "days(date(2020, 1, 1), date(2029, 12, 31))"
            example = days if self.kind in DAYS else "of(0, 100)"
            raise MissingBound(
                f"Column {self.name!r} has no bounds; declare them, such as "
                f"Column({self.name!r}, ..., bounds=Bounds.{example})."
            )
        lower, upper = self.bounds.lower, self.bounds.upper
        if self.kind is Kind.FLOAT:
            return Grid.fine(lower, upper)
        return Grid(lower, upper, step=self.step or Fraction(1))


# ------------------------------------------------------------------ schema


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table, in order, with distinct names.

    Example:
        >>> from tacit.core.domain import Kind
        >>> Schema((Column("age", Kind.INTEGER),))["age"].kind.value
        'integer'
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.columns):
            raise InvalidValue(
                "Columns must have distinct names; the given names are "
                f"{', '.join(self.names)}."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def copied(self) -> "Schema":
        """The schema of a validated copy, whose columns are stored in types of their kinds."""
        if all(column.stored is None and column.zone is None for column in self.columns):
            return self
        return replace(self, columns=tuple(column.copied for column in self.columns))

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise UnknownName(
            f"There is no column {name!r}; the columns are: {', '.join(self.names)}."
        )
