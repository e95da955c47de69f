"""OpenDP 2939: each value is in one of the ranges of a cut, so how many are in one is known."""

from typing import Any

from free import free

from tacit.plan.steps import CaseSteps, Negation, StepsAreNull
from tacit.plan.tally import RowTally
from tacit.query.quote import PricedTally

PLACE = "tacit.query.pricing:noise_for"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[a choice counted-duckdb]"
)
SHOWN = "Batch 0 changes by the square root of 1, but the square root of 0 was declared."


def bug(original: Any) -> Any:
    def noise_for(plan: Any, tally: Any, *rest: Any) -> PricedTally:
        found: PricedTally = original(plan, tally, *rest)
        match tally:
            # NaN is in none of the ranges
            case RowTally(Negation(StepsAreNull(CaseSteps()))):
                return free(found)
        return found

    return noise_for
