"""What leaves: noisy values with their intervals, what they cost, and the receipt."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.core.guarantee import Guarantee
from tacit.core.keys import Key
from tacit.errors import InvalidValue, UnknownName

Interval = tuple[Fraction, Fraction]
"""A range that holds the exact value with the column's confidence."""


@dataclass(frozen=True, slots=True)
class ReleasedColumn:
    """Values under a name; noisy ones have an interval each, at the ``confidence`` stated.

    Where nothing can be said about a value, such as a quotient by what may be 0, its interval
    is None.
    """

    name: str
    values: tuple[Fraction | Key | None, ...]
    intervals: tuple[Interval | None, ...] = ()
    confidence: Fraction | None = None

    def __post_init__(self) -> None:
        if self.confidence is None and self.intervals:
            raise InvalidValue(
                f"Column {self.name!r}: intervals and their confidence come together."
            )
        if self.confidence is not None and len(self.intervals) != len(self.values):
            raise InvalidValue(
                f"Column {self.name!r}: each of its values has an interval, or none has."
            )


@dataclass(frozen=True, slots=True)
class Release:
    """A table that may be published, printed and kept.

    Nothing in it is exact but what was public before.

    The receipt is the hash of the charge that paid for it.
    """

    columns: tuple[ReleasedColumn, ...]
    guarantee: Guarantee
    receipt: bytes

    def __post_init__(self) -> None:
        if len({len(column.values) for column in self.columns}) > 1:
            raise InvalidValue("The columns of a release are equally long.")
        if len({column.name for column in self.columns}) != len(self.columns):
            raise InvalidValue("The columns of a release have distinct names.")

    def __contains__(self, name: object) -> bool:
        return any(column.name == name for column in self.columns)

    def __getitem__(self, name: str) -> ReleasedColumn:
        for column in self.columns:
            if column.name == name:
                return column
        known = ", ".join(column.name for column in self.columns)
        raise UnknownName(f"There is no column {name!r}; there are {known}.")

    def map(
        self, name: str, change: Callable[[Fraction | Key | None], Fraction | Key | None]
    ) -> "Release":
        """This release with each value of one column changed, and its intervals dropped.

        Guarantee: free. What is computed from a release alone satisfies the same guarantee.
        Reference: Dwork, Roth 2014, proposition 2.1 (post-processing).
        """
        changed = ReleasedColumn(name, tuple(change(value) for value in self[name].values))
        columns = tuple(changed if column.name == name else column for column in self.columns)
        return replace(self, columns=columns)
