from fractions import Fraction
from math import exp

from tacit.mechanisms.additive_noise import Laplace
from tacit.testing.mechanism_contract import (
    MechanismExample,
    Pmf,
    hockey_stick_of,
    l1,
    p_value_of,
    side_by_side,
)

SCALE = 2


def pmf(secret: int) -> Pmf:
    q = exp(-1 / SCALE)
    return {(secret + y,): (1 - q) / (1 + q) * q ** abs(y) for y in range(-60, 61)}


EXAMPLE = MechanismExample(
    mechanism=Laplace(Fraction(SCALE)),
    off=Laplace(Fraction(SCALE) * Fraction(95, 100)),
    sensitivity=l1(1),
    left=(0,),
    right=(1,),
    sample=side_by_side(l1(1)),
    p_value=p_value_of(pmf(0)),
    hockey_stick=hockey_stick_of(pmf(0), pmf(1)),
    event_of_audit=lambda draws: draws[:, 0] <= 0,
    error_of=lambda draws: abs(draws[:, 0]).astype(float),
)
