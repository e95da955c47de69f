"""What leaves: noisy values with their intervals, what they cost, and the receipt."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tacit.core.guarantee import Guarantee
from tacit.core.keys import Key
from tacit.errors import InvalidValue, UnknownName
from tacit.extras import load
from tacit.render.chart import chart
from tacit.render.fields import fields
from tacit.render.html import html
from tacit.render.text import text

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


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """A table that may be published, printed and kept.

    Nothing in it is exact but what was public before.

    The receipt is the hash of the charge that paid for it. Printed, it is a table with the
    intervals beside the values, and the guarantee as a sentence.
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

    # ---------------------------------------------------------- how it is shown

    @property
    def notes(self) -> tuple[str, ...]:
        """What stands below the table wherever it is shown."""
        return (str(self.guarantee),)

    def __repr__(self) -> str:
        return "\n\n".join((text(self.columns), *self.notes))

    def _repr_html_(self) -> str:
        """The same for a notebook; whatever stands in a key is text there."""
        return html(self.columns, self.notes)

    def chart(self, measure: str | None = None) -> dict[str, Any]:
        """A Vega-Lite chart of ``measure``, or of the first column that has intervals."""
        noisy = [column for column in self.columns if column.confidence is not None]
        if measure is None and not noisy:
            raise InvalidValue("No column has intervals; name the one to draw.")
        drawn = noisy[0] if measure is None else self[measure]
        if any(isinstance(value, str) for value in drawn.values):
            raise InvalidValue(f"{drawn.name!r} holds text; a chart draws numbers.")
        labels = [c for c in self.columns if c.confidence is None and c is not drawn]
        return chart(labels, drawn)

    # ---------------------------------------------------------- what it becomes

    def to_dict(self) -> dict[str, Any]:
        """Plain lists for JSON, with the guarantee, the confidence and the receipt."""
        confidences = {
            column.name: float(column.confidence)
            for column in self.columns
            if column.confidence is not None
        }
        return {
            "columns": fields(self.columns),
            "confidence": confidences,
            "guarantee": str(self.guarantee),
            "receipt": self.receipt.hex(),
        }

    def to_pandas(self) -> Any:
        """A pandas DataFrame; the ends of intervals are columns of their own."""
        return load("pandas", extra="pandas").DataFrame(fields(self.columns))

    def to_polars(self) -> Any:
        """A Polars DataFrame; the ends of intervals are columns of their own."""
        return load("polars", extra="polars").DataFrame(fields(self.columns))

    def to_arrow(self) -> Any:
        """An Arrow table; the ends of intervals are columns of their own."""
        return load("pyarrow", extra="arrow").table(fields(self.columns))
