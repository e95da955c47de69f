from fractions import Fraction
from math import exp

from tacit.mechanisms.threshold_keys import LaplaceKeys
from tacit.testing.mechanism_contract import (
    MechanismExample,
    Pmf,
    hockey_stick_of,
    l2,
    p_value_of,
    side_by_side,
)

THRESHOLD = 8  # exp(-7 / 2) / (1 + exp(-1 / 2)) is below 1/50, and exp(-6 / 2) / ... is not


def pmf(units: int) -> Pmf:
    ratio = exp(-1 / 2)
    mass = {units + y: (1 - ratio) / (1 + ratio) * ratio ** abs(y) for y in range(-80, 81)}
    kept = {(noisy,): mass[noisy] for noisy in mass if noisy >= THRESHOLD and units > 0}
    return kept | {(0,): 1 - sum(kept.values())}


EXAMPLE = MechanismExample(
    mechanism=LaplaceKeys(Fraction(1, 2), Fraction(1, 50), max_keys=1),
    off=LaplaceKeys(Fraction(1, 2) / Fraction(95, 100), Fraction(1, 50), max_keys=1),
    sensitivity=l2(1),
    left=(7,),
    right=(8,),
    sample=side_by_side(l2(1)),
    p_value=p_value_of(pmf(7)),
    hockey_stick=hockey_stick_of(pmf(7), pmf(8)),
)
