"""The total of a CUBE is released with the sensitivity of its finest cells.

A person in four groups moves each of them by a little, and their total by four times as much.
"""

from collections.abc import Callable
from typing import Any

from tacit.plan.bounded_plan import sensitivities

PLACE = "tacit.plan.marginal_tables:marginal_sensitivities"
CAUGHT_BY = (
    "tests/engines/test_tables.py"
    "::test_a_person_moves_totals_as_far_as_was_said[Neighbours.ADD_REMOVE]"
)
SHOWN = "BrokenPromise"


def bug(original: Callable[..., Any]) -> Callable[..., Any]:
    del original

    def finest(plan: Any, tally: Any, kept: Any, neighbours: Any) -> Any:
        del kept
        return sensitivities(plan, tally, neighbours)

    return finest
