"""TD-10, 11; OpenDP 2938: what was cast is never NULL, so that how many there are is known."""

from typing import Any

from free import free

from tacit.plan.steps import Negation, ProductSteps, StepsAreNull
from tacit.plan.tally import RowTally
from tacit.query.quote import PricedTally

PLACE = "tacit.query.pricing:noise_for"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[a computed number counted-duckdb]"
)
SHOWN = "Batch 0 changes by the square root of 1, but the square root of 0 was declared."


def bug(original: Any) -> Any:
    def noise_for(plan: Any, tally: Any, *rest: Any) -> PricedTally:
        found: PricedTally = original(plan, tally, *rest)
        match tally:
            # floats become steps, and NaN becomes NULL
            case RowTally(Negation(StepsAreNull(ProductSteps()))):
                return free(found)
        return found

    return noise_for
