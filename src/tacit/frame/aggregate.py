"""What is asked of each group, in Python."""

from dataclasses import dataclass

from tacit.frame.expression import Expr, col
from tacit.numeric.exact import Number, exact
from tacit.plan.aggregate import (
    Aggregate,
    CountRows,
    CountUnits,
    CountValues,
    Deviation,
    Greatest,
    Least,
    Mean,
    Quantile,
    Sum,
    Variance,
)
from tacit.plan.expression import Expression

MEDIAN = exact("1/2")


@dataclass(frozen=True, slots=True)
class Agg:
    """An aggregate that `Table.agg` takes."""

    aggregate: Aggregate


def count(part: Expr | str | None = None) -> Agg:
    """How many rows, or in how many of them ``part`` is not NULL.

    Example:
        >>> count().aggregate
        CountRows()
    """
    return Agg(CountRows() if part is None else CountValues(_node(part)))


def count_units() -> Agg:
    """How many units."""
    return Agg(CountUnits())


def total(part: Expr | str) -> Agg:
    """The sum of ``part``."""
    return Agg(Sum(_node(part)))


def mean(part: Expr | str) -> Agg:
    """The mean of ``part``."""
    return Agg(Mean(_node(part)))


def variance(part: Expr | str, *, sample: bool = True) -> Agg:
    """The variance of ``part``."""
    return Agg(Variance(_node(part), sample))


def deviation(part: Expr | str, *, sample: bool = True) -> Agg:
    """The standard deviation of ``part``."""
    return Agg(Deviation(_node(part), sample))


def quantile(part: Expr | str, fraction: Number) -> Agg:
    """The value that so large a part of the rows do not pass."""
    return Agg(Quantile(_node(part), exact(fraction)))


def median(part: Expr | str) -> Agg:
    """The value that half of the rows do not pass."""
    return Agg(Quantile(_node(part), MEDIAN))


def least(part: Expr | str) -> Agg:
    """The least value whose rank can be seen through noise."""
    return Agg(Least(_node(part)))


def greatest(part: Expr | str) -> Agg:
    """The greatest value whose rank can be seen through noise."""
    return Agg(Greatest(_node(part)))


def _node(part: Expr | str) -> Expression:
    return (col(part) if isinstance(part, str) else part).node
