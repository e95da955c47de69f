"""TD-10, 4: a mean is a sum and a count, and each gets all of its loss (smartnoise-sdk 202)."""

from collections.abc import Callable
from fractions import Fraction

from tacit.plan.bounding import Bound
from tacit.plan.tally import MeanReading

PLACE = "tacit.query.pricing:shares"
CAUGHT_BY = "tests/unit/query/test_share.py::test_a_mean_pays_for_its_sum_and_its_count"
SHOWN = "The price of a quote is above the requested loss."

Shares = Callable[[Bound], list[Fraction]]


def bug(original: Shares) -> Shares:
    def shares(bounded: Bound) -> list[Fraction]:
        parts = original(bounded)
        for reading in bounded.readings:
            if isinstance(reading, MeanReading):
                parts[reading.total] = parts[reading.count] = Fraction(1, len(bounded.readings))
        return parts

    return shares
