from fractions import Fraction
from itertools import permutations
from math import exp

from law_sizes import OFF, slow

from tacit.lab.selection import TopK
from tacit.testing.mechanism_contract import (
    MechanismExample,
    Pmf,
    hockey_stick_of,
    linf,
    one_by_one,
    p_value_of,
)

LEFT, RIGHT = (0, 0, 2, 2), (1, 1, 1, 1)
DRAWS = slow(60_000)  # of about 70 microseconds each: a rate 5% off shows by 4 standard errors


def pmf(scores: tuple[int, ...]) -> Pmf:
    weights = [exp(score) for score in scores]
    total = sum(weights)
    return {
        (first, second): weights[first] / total * weights[second] / (total - weights[first])
        for first, second in permutations(range(len(scores)), 2)
    }


EXAMPLE = MechanismExample(
    mechanism=TopK(Fraction(1), candidates=4, winners=2),
    off=TopK(OFF, candidates=4, winners=2),
    sensitivity=linf(1),
    left=LEFT,
    right=RIGHT,
    sample=one_by_one(linf(1)),
    p_value=p_value_of(pmf(LEFT)),
    hockey_stick=hockey_stick_of(pmf(LEFT), pmf(RIGHT)),
)
