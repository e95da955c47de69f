from dataclasses import replace
from fractions import Fraction
from math import exp

from law_sizes import OFF, slow

from tacit.lab.propose_test_release import ProposeTestRelease
from tacit.testing.mechanism_contract import (
    MechanismExample,
    Pmf,
    hockey_stick_of,
    linf,
    one_by_one,
    p_value_of,
)

RECIPE = ProposeTestRelease(
    bound=Fraction(2),
    test_epsilon=Fraction(1, 2),
    release_epsilon=Fraction(1),
    delta=Fraction(1, 100),
)
DRAWS = slow(60_000)  # one by one, and enough to reject five percent
WORST = linf(100)


def laplace(scale: float, value: int) -> float:
    q = exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** abs(value)


def pmf(value: int, distance: int) -> Pmf:
    passed = sum(laplace(2, y) for y in range(RECIPE.threshold - distance + 1, 200))
    law = {(1, value + y): passed * laplace(2, y) for y in range(-60, 61)}
    return law | {(0, 0): 1 - passed}


EXAMPLE = MechanismExample(
    mechanism=RECIPE,
    off=replace(RECIPE, bound=RECIPE.bound * OFF),
    sensitivity=WORST,
    left=(0, 10),
    right=(2, 9),
    sample=one_by_one(WORST),
    p_value=p_value_of(pmf(0, 10)),
    hockey_stick=hockey_stick_of(pmf(0, 10), pmf(2, 9)),
    doubles=False,  # a part of the secret is not a value
)
