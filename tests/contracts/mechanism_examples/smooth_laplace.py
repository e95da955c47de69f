from fractions import Fraction
from math import exp

from law_sizes import OFF, slow

from tacit.robust.smooth_noise import SmoothLaplace
from tacit.testing.mechanism_contract import (
    MechanismExample,
    Pmf,
    hockey_stick_of,
    linf,
    one_by_one,
    p_value_of,
)

FACTOR, SMOOTHING = Fraction(2), Fraction("0.6932")  # just above log(2)
DRAWS = slow(100_000)  # one by one, and enough to reject five percent
WORST = linf(100)


def pmf(value: int, smooth_sensitivity: int) -> Pmf:
    scale = float(FACTOR) * smooth_sensitivity
    law = {(value,): 1 - exp(-0.5 / scale)}
    for size in range(1, 120):
        at = (exp(-(size - 0.5) / scale) - exp(-(size + 0.5) / scale)) / 2
        law |= {(value + size,): at, (value - size,): at}
    return law


EXAMPLE = MechanismExample(
    mechanism=SmoothLaplace(FACTOR, SMOOTHING),
    off=SmoothLaplace(FACTOR * OFF, SMOOTHING),
    sensitivity=WORST,
    left=(0, 1),
    right=(1, 2),
    sample=one_by_one(WORST),
    p_value=p_value_of(pmf(0, 1)),
    hockey_stick=hockey_stick_of(pmf(0, 1), pmf(1, 2)),
    doubles=False,  # a part of the secret is not a value
)
