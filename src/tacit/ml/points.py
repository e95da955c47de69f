"""Rows as points: the axes of a model's features, within a public distance of their centre."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from tacit.core.bounds import Bounds
from tacit.core.column import Column
from tacit.errors import InvalidValue, MissingBound
from tacit.numeric.exact import Number, exact
from tacit.plan.axis import REACH, Axis
from tacit.plan.expression import Comparison
from tacit.plan.ranged import Ranged
from tacit.plan.steps import (
    AllOf,
    CompareSteps,
    Condition,
    ProductSteps,
    Steps,
    SumSteps,
    WholeSteps,
)

ONE = Axis(WholeSteps(REACH), REACH, Fraction(0), Fraction(1, REACH))
"""What every row has: the axis of an intercept."""


@dataclass(frozen=True, slots=True)
class Points:
    """Axes, of which the squares of no row add up to more than ``square``.

    The ends of an axis are one unit of length from its centre. A row that is farther away than
    the model's ``norm`` says, or has no number on an axis, is left out: by itself, whatever
    other rows hold.

    Example:
        >>> from tacit.core.column import Kind
        >>> xy = [Column(name, Kind.FLOAT) for name in "xy"]
        >>> near = Points.of(xy, (0, [1, 100]), norm=1)
        >>> near.square == REACH**2, Points.of(xy, (0, [1, 100])).square > 1.9 * REACH**2
        (True, True)
    """

    axes: tuple[Axis, ...]
    square: int
    inside: Condition

    @classmethod
    def of(
        cls,
        columns: Sequence[Column],
        bounds: Any = None,
        norm: Number | None = None,
        around: Fraction | None = None,
    ) -> "Points":
        """The columns within ``bounds``, a lower and an upper end for all or for each."""
        axes = tuple(
            Axis.of(column, each, around)
            for column, each in zip(columns, bounds_of(columns, bounds), strict=True)
        )
        corner = square = sum(axis.reach**2 for axis in axes)
        if norm is not None:
            square = min(square, (exact(norm) * abs(exact(norm)) * REACH**2).__floor__())
        if square < 1:
            raise InvalidValue(f"A norm is above 0, and {norm} is not.")
        squares: list[Steps] = [ProductSteps(axis.steps, axis.steps) for axis in axes]
        total = reduce(SumSteps, squares)
        Ranged(total, 0, corner, Fraction(1))  # fits, or is refused
        if square == corner:  # all that have numbers are inside: no square has to be summed
            return cls(axes, square, AllOf(tuple(axis.there for axis in axes)))
        return cls(axes, square, CompareSteps(Comparison.AT_MOST, total, WholeSteps(square)))

    @property
    def with_one(self) -> "Points":
        """The same beside an axis on which every row stands at one."""
        return Points((*self.axes, ONE), self.square + REACH**2, self.inside)


def bounds_of(columns: Sequence[Column], given: Any) -> list[Bounds]:
    """The bounds of each column: those ``given``, and without them those that it declares."""
    if given is None:
        missing = [column.name for column in columns if column.bounds is None]
        if missing:
            raise MissingBound(
                f"These columns have no bounds: {', '.join(missing)}. Give them to the model, "
                "as bounds=(lower, upper), from what is known without the data."
            )
        return [column.bounds for column in columns if column.bounds is not None]
    try:
        lower, upper = (_each(end, len(columns)) for end in given)
        ends = zip(columns, lower, upper, strict=True)
        return [Bounds.of(low, high) for _, low, high in ends]
    except (TypeError, ValueError) as error:
        raise InvalidValue(
            f"Bounds are (lower, upper): each a number, or one for each of {len(columns)} "
            f"columns, with lower <= upper; {given!r} was given."
        ) from error


def _each(end: Any, count: int) -> list[Number]:
    """One end of the bounds, for each column."""
    plain = end.tolist() if hasattr(end, "tolist") else end
    return list(plain) if isinstance(plain, Sequence) else [plain] * count
