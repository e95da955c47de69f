"""What an engine counts for each group: integers, to which one unit adds a bounded amount.

Each is first taken over one unit's rows in the group, clamped, and then summed over units, so
that a unit adds between ``low`` and ``high``, whatever its rows hold.
"""

from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import InternalError
from tacit.plan.steps import Condition, Steps


@dataclass(frozen=True, slots=True)
class UnitTally:
    """Each unit counts once."""

    low: int = 1
    high: int = 1


@dataclass(frozen=True, slots=True)
class RowTally:
    """The unit's rows where a condition holds, at most ``high`` of them."""

    condition: Condition
    high: int
    low: int = 0


@dataclass(frozen=True, slots=True)
class TotalTally:
    """The sum of the unit's steps, clamped to ``low`` and ``high``; NULL counts for nothing."""

    steps: Steps
    low: int
    high: int

    def __post_init__(self) -> None:
        if not self.low <= 0 <= self.high:
            raise InternalError(
                "A unit whose steps are all NULL adds 0, which the range holds."
            )


@dataclass(frozen=True, slots=True)
class KeptTally:
    """The sum of steps over those of the unit's rows that are kept, at most ``max_rows``.

    ``low`` and ``high`` follow from the range of the steps: nothing is clamped here but rows.
    """

    steps: Steps
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class TreeTally:
    """The kept rows of a unit, at most ``high``, counted in every node of a tree above a grid.

    ``cell`` is the place on the grid, from 0 on, and a row where it is NULL counts for nothing.
    Level i has ``branching**i`` nodes, and the last is the grid; a row adds 1 to one node of
    each level. Where a ``quantile`` is chosen from the counts there is no level but the grid.
    """

    cell: Steps
    levels: int
    branching: int
    high: int
    low: int = 0
    quantile: Fraction | None = None

    @property
    def cells(self) -> int:
        """The places of the grid."""
        return int(self.branching**self.levels)

    @property
    def nodes(self) -> int:
        """The counts of a tree."""
        return sum(self.branching**level for level in range(1, self.levels + 1))


Tally = UnitTally | RowTally | TotalTally | KeptTally | TreeTally


def width(tally: Tally) -> int:
    """How many integers a tally has for each group."""
    return tally.nodes if isinstance(tally, TreeTally) else 1
