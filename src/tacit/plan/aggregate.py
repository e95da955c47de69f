"""What is asked of each group."""

from dataclasses import dataclass

from tacit.plan.expression import Expression


@dataclass(frozen=True, slots=True)
class CountRows:
    """How many rows a group has: COUNT(*)."""


@dataclass(frozen=True, slots=True)
class CountUnits:
    """How many units a group has: COUNT(DISTINCT the unit)."""


@dataclass(frozen=True, slots=True)
class CountValues:
    """In how many rows of a group an expression is not NULL: COUNT(expression)."""

    argument: Expression


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of a number over the rows of a group; NULL counts for nothing."""

    argument: Expression


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a number over the rows of a group in which it is not NULL."""

    argument: Expression


Aggregate = CountRows | CountUnits | CountValues | Sum | Mean
