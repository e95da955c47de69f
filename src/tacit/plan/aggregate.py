"""What is asked of each group."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import InvalidValue
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


@dataclass(frozen=True, slots=True)
class Variance:
    """The variance of a number over the rows in which it is not NULL.

    Of a ``sample`` it is divided by one row less than there are.
    """

    argument: Expression
    sample: bool


@dataclass(frozen=True, slots=True)
class Deviation:
    """The root of the variance."""

    argument: Expression
    sample: bool


@dataclass(frozen=True, slots=True)
class Quantile:
    """The value that so large a part of the rows do not pass; the median's part is a half."""

    argument: Expression
    fraction: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.fraction < 1:
            raise InvalidValue(
                f"A quantile lies between 0 and 1, and {self.fraction} does not; the ends are "
                "MIN and MAX."
            )


@dataclass(frozen=True, slots=True)
class Least:
    """The least value whose rank can be seen through noise: MIN."""

    argument: Expression


@dataclass(frozen=True, slots=True)
class Greatest:
    """The greatest value whose rank can be seen through noise: MAX."""

    argument: Expression


Aggregate = (
    CountRows
    | CountUnits
    | CountValues
    | Sum
    | Mean
    | Variance
    | Deviation
    | Quantile
    | Least
    | Greatest
)
