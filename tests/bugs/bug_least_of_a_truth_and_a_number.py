"""LEAST is bounded by the range of a constant, which can be wider than the constant itself."""

from collections.abc import Callable
from typing import Any

from tacit.plan.steps import Ranged, WholeSteps

PLACE = "tacit.plan.number_functions:extreme"
CAUGHT_BY = (
    "tests/engines/test_ranges.py"
    "::test_a_constant_bounds_an_extreme_by_itself_and_not_by_its_range"
)
SHOWN = "assert (0, 0) == (0, 1)"

Extreme = Callable[..., Ranged]


def bug(original: Extreme) -> Extreme:
    def extreme(values: list[Ranged], *, greatest: bool, **others: Any) -> Ranged:
        found = original(values, greatest=greatest, **others)
        lows = [each.low for each in values if isinstance(each.steps, WholeSteps)]
        if greatest or not lows:
            return found
        return Ranged(found.steps, found.low, min(lows), found.step, found.rounding)

    return extreme
