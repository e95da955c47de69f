"""TD-10, 5: values are clamped, and what is computed of them is not (smartnoise-sdk 201)."""

from collections.abc import Callable

from tacit.plan.steps import ProductSteps, Ranged

PLACE = "tacit.plan.steps:Ranged.__mul__"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[a mean of a product-duckdb]"
)
SHOWN = "BrokenPromise: Batch 0 changes by the square root of"

Times = Callable[[Ranged, Ranged], Ranged]


def bug(_: Times) -> Times:
    def times(self: Ranged, other: Ranged) -> Ranged:
        # the range of the column, which was clamped to it
        steps = ProductSteps(self.steps, other.steps)
        return Ranged(steps, self.low, self.high, self.step * other.step)

    return times
