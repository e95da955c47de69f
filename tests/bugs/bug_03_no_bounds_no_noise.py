"""TD-10, 3: a sum without bounds has no sensitivity, and gets no noise (smartnoise-sdk 317)."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from free import free

from tacit.core.domain import Column
from tacit.errors import MissingBound
from tacit.numeric.grid import Grid
from tacit.query import pricing
from tacit.query.quote import PricedTally

PLACE = "tacit.core.domain:Column.grid"
CAUGHT_BY = (
    "tests/unit/core/test_column.py::test_a_column_without_bounds_says_how_to_declare_them"
)
SHOWN = "DID NOT RAISE MissingBound"

WIDE = Grid(Fraction(-(2**40)), Fraction(2**40), step=Fraction(1))

GridOf = Callable[[Column], Grid]


def bug(original: GridOf) -> GridOf:
    noise_for = pricing.noise_for

    def unless_wide(plan: Any, tally: Any, *rest: Any) -> PricedTally:
        found: PricedTally = noise_for(plan, tally, *rest)
        return free(found) if repr(WIDE) in repr(tally) else found

    pricing.noise_for = unless_wide

    def grid(self: Column) -> Grid:
        try:
            return original(self)
        except MissingBound:
            return WIDE

    return grid
