from fractions import Fraction
from math import exp

from tacit.mechanisms.additive_noise import Gaussian
from tacit.testing.mechanism_contract import (
    MechanismExample,
    Pmf,
    hockey_stick_of,
    l2,
    p_value_of,
    side_by_side,
)

VARIANCE = 9


def pmf(secret: int) -> Pmf:
    weights = {(secret + y,): exp(-(y**2) / (2 * VARIANCE)) for y in range(-40, 41)}
    return {release: weight / sum(weights.values()) for release, weight in weights.items()}


EXAMPLE = MechanismExample(
    mechanism=Gaussian(Fraction(VARIANCE)),
    off=Gaussian(Fraction(VARIANCE) * Fraction(95, 100) ** 2),
    sensitivity=l2(1),
    left=(0,),
    right=(1,),
    sample=side_by_side(l2(1)),
    p_value=p_value_of(pmf(0)),
    hockey_stick=hockey_stick_of(pmf(0), pmf(1)),
    error_of=lambda draws: abs(draws[:, 0]).astype(float),
)
