"""Estimate: what is known of a column, asked of the data as any question is, and paid for."""

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
"""Where one cell ends and the next begins."""

WHAT = ("bounds", "keys")
YEARS = range(1900, 2101)
FIGURES = (1, 2, 5)
HIGHEST = 12
LOWEST = -6
"""Numbers are looked for from 10^-6 to 10^12, on either side of 0."""

NEAR_NOTHING = 4
"""An end that is this many times nearer to 0 than the other becomes 0: it costs little."""


@dataclass(frozen=True, slots=True)
class DomainEstimate:
    """A question whose answer tells what is known of a column, and how it is read from it."""

    question: Question
    read: Callable[[Answer], list[Any]]


def estimate_of(session: Session, dataset: str, name: str, what: str) -> DomainEstimate:
    """The question for the ``bounds`` or the ``keys`` of a column.

    Guarantee: nothing but a question. It is priced, charged and stored as all are, and what is
    read from its answer is public from then on.
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
        f"{dataset}.{name} is {column.kind.value}: keys are estimated of text and of whole "
        "numbers, bounds of numbers and days."
    )


def ladder(column: Column) -> tuple[Rung, ...]:
    """The public places between which the ends of a column are looked for.

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
    """How many rungs a value has reached; of NULL, and of what is no number, nothing."""
    below = [(value < rung, place) for place, rung in enumerate(rungs)]
    return case(*below, (value >= rungs[-1], len(rungs)))


def _bounds(answer: Answer, rungs: tuple[Rung, ...]) -> list[Any]:
    """The rung below the least value that can be seen, and the one above the greatest."""
    low, high = sorted(int(Fraction(answer[end].values[0] or 0)) for end in ("low", "high"))
    ends = rungs[max(low - 1, 0)], rungs[min(high, len(rungs) - 1)]
    if ends[0] == ends[1]:
        raise InvalidValue(
            f"What can be seen lies beyond {ends[0]}, where no estimate reaches; say the "
            "bounds: tacit domain DATASET.COLUMN LOW..HIGH --source policy"
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
            "No group was large enough to be shown; spend more, or say the keys: tacit domain "
            "DATASET.COLUMN KEY,KEY --source policy"
        )
    return found
