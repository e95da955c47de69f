from fractions import Fraction
from math import exp

from law_sizes import OFF, slow

from tacit.mechanisms.exponential import Exponential
from tacit.testing.mechanism_contract import (
    MechanismExample,
    Pmf,
    hockey_stick_of,
    linf,
    one_by_one,
    p_value_of,
)

LEFT, RIGHT = (0, 0, 0, 0, 0, 3), (1, -1, -1, -1, -1, 2)
DRAWS = slow(40_000)  # of about 35 microseconds each: a rate 5% off shows by 4 standard errors


def pmf(scores: tuple[int, ...]) -> Pmf:
    total = sum(exp(score) for score in scores)
    return {(place,): exp(score) / total for place, score in enumerate(scores)}


EXAMPLE = MechanismExample(
    mechanism=Exponential(Fraction(1), candidates=6),
    off=Exponential(OFF, candidates=6),
    sensitivity=linf(1),
    left=LEFT,
    right=RIGHT,
    sample=one_by_one(linf(1)),
    p_value=p_value_of(pmf(LEFT)),
    hockey_stick=hockey_stick_of(pmf(LEFT), pmf(RIGHT)),
)
