from fractions import Fraction
from math import exp

from tacit.mechanisms.threshold_keys import GaussianKeys
from tacit.testing.mechanism_contract import (
    MechanismExample,
    Pmf,
    hockey_stick_of,
    l2,
    p_value_of,
    side_by_side,
)

THRESHOLD = 6


def pmf(units: int) -> Pmf:
    weight = {y: exp(-(y**2) / 8) for y in range(-40, 41)}
    whole = sum(weight.values())
    noisy = {units + y: weight[y] / whole for y in weight}
    kept = {(count,): noisy[count] for count in noisy if count >= THRESHOLD and units > 0}
    return kept | {(0,): 1 - sum(kept.values())}


EXAMPLE = MechanismExample(
    mechanism=GaussianKeys(Fraction(4), Fraction(1, 50), max_keys=1),
    off=GaussianKeys(Fraction(4) * Fraction(95, 100), Fraction(1, 50), max_keys=1),
    sensitivity=l2(1),
    left=(6,),
    right=(7,),
    sample=side_by_side(l2(1)),
    p_value=p_value_of(pmf(6)),
    hockey_stick=hockey_stick_of(pmf(6), pmf(7)),
)
