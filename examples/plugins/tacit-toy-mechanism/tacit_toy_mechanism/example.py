"""The exact law of `ToyRounded` at one setting, computed without its code."""

from fractions import Fraction
from math import exp

from tacit.testing import MechanismExample, Pmf, hockey_stick_of, l1, p_value_of, side_by_side
from tacit_toy_mechanism import ToyRounded

SCALE, STEP = 2, 3


def pmf(secret: int) -> Pmf:
    """Return the probability of each multiple of the step."""
    q = exp(-1 / SCALE)
    law: dict[tuple[int, ...], float] = {}
    for noise in range(-90, 91):
        rounded = (secret + noise + STEP // 2) // STEP * STEP
        law[rounded,] = law.get((rounded,), 0) + (1 - q) / (1 + q) * q ** abs(noise)
    return law


EXAMPLE = MechanismExample(
    mechanism=ToyRounded(Fraction(SCALE), STEP),
    off=ToyRounded(Fraction(SCALE) * Fraction(95, 100), STEP),
    sensitivity=l1(1),
    left=(0,),
    right=(1,),
    sample=side_by_side(l1(1)),
    p_value=p_value_of(pmf(0)),
    hockey_stick=hockey_stick_of(pmf(0), pmf(1)),
)
