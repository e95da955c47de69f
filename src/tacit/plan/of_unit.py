"""What engines compute of one unit's own rows: a number in steps, in a range known beforehand.

NULL counts for nothing; a sum, a mean, a least or greatest of nothing is NULL. Sums are of
numbers below 62 bits, so that 128 bits hold them however many rows a unit has.
"""

from dataclasses import dataclass

from tacit.plan.steps import Condition, Steps


@dataclass(frozen=True, slots=True)
class CountOf:
    """The rows where a condition holds, clamped to ``low`` and ``high``."""

    condition: Condition
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class SumOf:
    """The sum of steps, clamped to ``low`` and ``high``."""

    steps: Steps
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class LeastOf:
    """The least number of steps."""

    steps: Steps


@dataclass(frozen=True, slots=True)
class GreatestOf:
    """The greatest number of steps."""

    steps: Steps


@dataclass(frozen=True, slots=True)
class MeanOf:
    """The mean of steps, never below 0, in ``finer`` parts of a step; a half goes up.

    It is counted from ``start`` parts on.
    """

    steps: Steps
    finer: int
    start: int


OfUnit = CountOf | SumOf | LeastOf | GreatestOf | MeanOf
