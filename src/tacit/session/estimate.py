"""Estimates of a column's bounds or keys, by an ordinary question that is charged.

Bounds are searched on a ladder of public values, for example 1, 2, 5, 10, 20. A value of the
column becomes the number of rungs that it reaches, and the least and the greatest of these
numbers are asked for. So the estimate is one of the rungs, never a value of the data.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from tacit.core import Answer, Column, Kind
from tacit.errors import InvalidValue
from tacit.frame import Expr, case, col, count_units, greatest, least
from tacit.numeric import plain
from tacit.session.question import Question
from tacit.session.session import Session

Rung = Fraction | date
"""A public value of the ladder: the end of one cell and the start of the next."""

WHAT = ("bounds", "keys")
YEARS = range(1900, 2101)
FIGURES = (1, 2, 5)
HIGHEST = 12
LOWEST = -6
"""Numbers are searched from 10^-6 to 10^12, on either side of 0."""

NEAR_NOTHING = 4
"""A bound that is this many times nearer to 0 than the other becomes 0: that costs little."""


@dataclass(frozen=True, slots=True)
class DomainEstimate:
    """A question about a column, and the function that reads the estimate from its answer."""

    question: Question
    read: Callable[[Answer], list[Any]]


def estimate_of(session: Session, dataset: str, name: str, what: str) -> DomainEstimate:
    """Return the question that estimates the ``bounds`` or the ``keys`` of a column.

    Guarantee: it is an ordinary question, which is priced, charged and stored like every
    other one. The estimate is post-processing of its answer.
    """
    column = session.catalog.dataset(dataset).schema[name]
    bare = session.as_if_unknown(dataset, name)
    if what == "keys" and column.kind in {Kind.TEXT, Kind.INTEGER}:
        asked = bare.table(dataset).group_by(name).agg(units=count_units())
        return DomainEstimate(asked, lambda answer: _keys(answer, name))
    if what == "bounds" and column.kind not in {Kind.TEXT, Kind.BOOLEAN, Kind.TIMESTAMP}:
        rungs = ladder(column)
        cell = _cell(col(name), rungs)
        asked = bare.table(dataset).agg(low=least(cell), high=greatest(cell))
        return DomainEstimate(asked, lambda answer: _bounds(answer, rungs))
    raise InvalidValue(
        f"{dataset}.{name} has the kind {column.kind.value}. Keys can be estimated for text "
        "and whole numbers, bounds for numbers and days."
    )


def ladder(column: Column) -> tuple[Rung, ...]:
    """Return the public values among which the bounds of a column are searched.

    Example:
        >>> [str(rung) for rung in ladder(Column("age", Kind.INTEGER))[37:43]]
        ['0', '1', '2', '5', '10', '20']
    """
    if column.kind is Kind.DATE:
        return tuple(date(year, 1, 1) for year in YEARS)
    smallest = column.step or Fraction(1 if column.kind is Kind.INTEGER else 0)
    powers = [Fraction(10) ** power for power in range(LOWEST, HIGHEST)]
    rungs = [figure * power for power in powers for figure in FIGURES] + [powers[-1] * 10]
    above = [rung for rung in rungs if rung >= smallest]
    return (*(-rung for rung in reversed(above)), Fraction(0), *above)


def _cell(value: Expr, rungs: tuple[Rung, ...]) -> Expr:
    """Return the number of rungs that a value reaches; NULL for NULL and for NaN."""
    below = [(value < rung, place) for place, rung in enumerate(rungs)]
    return case(*below, (value >= rungs[-1], len(rungs)))


def _bounds(answer: Answer, rungs: tuple[Rung, ...]) -> list[Any]:
    """Return the rung below the released minimum and the rung above the released maximum."""
    low, high = sorted(int(Fraction(answer[end].values[0] or 0)) for end in ("low", "high"))
    ends = rungs[max(low - 1, 0)], rungs[min(high, len(rungs) - 1)]
    if ends[0] == ends[1]:
        raise InvalidValue(
            f"The estimate lies beyond {ends[0]}, the end of the range that is searched. "
            "Declare the bounds: tacit domain DATASET.COLUMN LOW..HIGH --source policy"
        )
    first, after = ends
    if isinstance(first, date) and isinstance(after, date):
        return [first, after - timedelta(days=1)]
    numbers = [end for end in ends if isinstance(end, Fraction)]
    near = max(map(abs, numbers)) / NEAR_NOTHING
    return [plain(Fraction(0) if abs(end) <= near else end) for end in numbers]


def _keys(answer: Answer, name: str) -> list[Any]:
    found = [key for key in answer[name].values if key is not None]
    if not found:
        raise InvalidValue(
            "No group was large enough to be released. Spend more, or declare the keys: tacit "
            "domain DATASET.COLUMN KEY,KEY --source policy"
        )
    return found
