from fractions import Fraction
from math import exp

from tacit.mechanisms.optimal_keys import TruncatedGeometricKeys
from tacit.testing.mechanism_contract import (
    MechanismExample,
    Pmf,
    hockey_stick_of,
    l2,
    p_value_of,
    side_by_side,
)

REACH = 6


def pmf(units: int) -> Pmf:
    weight = {y: exp(-abs(y) / 2) for y in range(-REACH, REACH + 1)}
    whole = sum(weight.values())
    kept = {(units + y,): weight[y] / whole for y in weight if units + y > REACH}
    return kept | {(0,): 1 - sum(kept.values())}


EXAMPLE = MechanismExample(
    mechanism=TruncatedGeometricKeys(Fraction(1, 2), Fraction(1, 50), max_keys=1),
    off=TruncatedGeometricKeys(Fraction(1, 2) / Fraction(95, 100), Fraction(1, 50), max_keys=1),
    sensitivity=l2(1),
    left=(6,),
    right=(7,),
    sample=side_by_side(l2(1)),
    p_value=p_value_of(pmf(6)),
    hockey_stick=hockey_stick_of(pmf(6), pmf(7)),
)
