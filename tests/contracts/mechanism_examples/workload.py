from fractions import Fraction
from math import exp

from tacit.lab.matrix_mechanism import LinearQueries
from tacit.testing.mechanism_contract import (
    MechanismExample,
    Pmf,
    hockey_stick_of,
    l1,
    p_value_of,
    side_by_side,
)

VARIANCE = 36
TWICE = 2


def pmf(secret: int) -> Pmf:
    weights = {(TWICE * secret + y,): exp(-(y**2) / (2 * VARIANCE)) for y in range(-80, 81)}
    return {release: weight / sum(weights.values()) for release, weight in weights.items()}


EXAMPLE = MechanismExample(
    mechanism=LinearQueries(((TWICE,),), Fraction(VARIANCE)),
    off=LinearQueries(((TWICE,),), Fraction(VARIANCE) * Fraction(95, 100) ** 2),
    sensitivity=l1(1),
    left=(0,),
    right=(1,),
    sample=side_by_side(l1(1)),
    p_value=p_value_of(pmf(0)),
    hockey_stick=hockey_stick_of(pmf(0), pmf(1)),
    error_of=lambda draws: abs(draws[:, 0]).astype(float),
)
