from fractions import Fraction
from math import exp

from law_sizes import OFF, slow

from tacit.robust.quantiles import RankQuantile
from tacit.testing.mechanism_contract import (
    MechanismExample,
    Pmf,
    hockey_stick_of,
    l1,
    one_by_one,
    p_value_of,
)

PROBABILITY = 0.75
# equal values and another far above: points between them gain what points below lose
LEFT, RIGHT = (0, 8, 0, 0, 0, 0, 0, 0), (0, 8, 0, 0, 0, 0, 0, 1)
DRAWS = slow(60_000)  # of about 60 microseconds each: a rate 5% off shows by 4 standard errors


def pmf(counts: tuple[int, ...]) -> Pmf:
    wanted = PROBABILITY * sum(counts)
    below = [sum(counts[:place]) for place in range(len(counts))]
    distances = [
        max(low - wanted, wanted - low - count, 0.0)
        for low, count in zip(below, counts, strict=True)
    ]
    weights = [exp(-distance) for distance in distances]
    return {(place,): weight / sum(weights) for place, weight in enumerate(weights)}


EXAMPLE = MechanismExample(
    mechanism=RankQuantile(Fraction("0.75"), rate=Fraction(1), points=8),
    off=RankQuantile(Fraction("0.75"), rate=OFF, points=8),
    sensitivity=l1(1),
    left=LEFT,
    right=RIGHT,
    sample=one_by_one(l1(1)),
    p_value=p_value_of(pmf(LEFT)),
    hockey_stick=hockey_stick_of(pmf(LEFT), pmf(RIGHT)),
)
