"""How the loss of a question is divided among its tallies."""

from collections import defaultdict
from fractions import Fraction

from tacit.plan.bound import Bound
from tacit.plan.reading import MeanReading, TotalReading

TOTAL_SHARE = Fraction(4, 5)
"""What the centred sum of a mean gets of its loss; its count gets the rest."""


def shares(bounded: Bound) -> list[Fraction]:
    """The part of the loss that each tally gets: equal parts for what the analyst asked."""
    parts: dict[int, Fraction] = defaultdict(Fraction)
    whole = Fraction(1, len(bounded.readings))
    for reading in bounded.readings:
        match reading:
            case TotalReading(tally, _):
                parts[tally] += whole
            case MeanReading():
                parts[reading.total] += whole * TOTAL_SHARE
                parts[reading.count] += whole * (1 - TOTAL_SHARE)
    return [parts[place] for place in range(len(bounded.plan.tallies))]
