from fractions import Fraction
from math import exp

from tacit.mechanisms.optimal_keys import OptimalKeys
from tacit.testing.mechanism_contract import (
    MechanismExample,
    Pmf,
    hockey_stick_of,
    l2,
    p_value_of,
    side_by_side,
)

EPSILON, DELTA = 0.5, 0.01


def pmf(units: int) -> Pmf:
    kept = 0.0
    for _ in range(units):
        kept = min(exp(EPSILON) * kept + DELTA, 1 - exp(-EPSILON) * (1 - kept - DELTA), 1.0)
    return {(0,): 1 - kept, (1,): kept}


EXAMPLE = MechanismExample(
    mechanism=OptimalKeys(Fraction(1, 2), Fraction(1, 100), max_keys=1),
    off=OptimalKeys(Fraction(1, 2) / Fraction(95, 100), Fraction(1, 100), max_keys=1),
    sensitivity=l2(1),
    left=(5,),
    right=(6,),
    sample=side_by_side(l2(1)),
    p_value=p_value_of(pmf(5)),
    hockey_stick=hockey_stick_of(pmf(5), pmf(6)),
)
