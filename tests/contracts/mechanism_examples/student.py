from fractions import Fraction

from law_sizes import OFF, slow
from scipy.stats import t as student

from tacit.robust.smooth_noise import Student
from tacit.testing.mechanism_contract import (
    MechanismExample,
    Pmf,
    hockey_stick_of,
    linf,
    one_by_one,
    p_value_of,
)

DEGREES, SMOOTHING, RATE = 5, Fraction("0.6932"), Fraction(1, 2)  # just above log(2)
DRAWS = slow(100_000)  # one by one, and enough to reject five percent
WORST = linf(100)


def pmf(value: int, smooth_sensitivity: int) -> Pmf:
    scale = smooth_sensitivity / float(RATE)

    def above(size: float) -> float:
        return float(student.sf(size / scale, DEGREES))

    law = {(value,): 1 - 2 * above(0.5)}
    for size in range(1, 1000):
        at = above(size - 0.5) - above(size + 0.5)
        law |= {(value + size,): at, (value - size,): at}
    return law


EXAMPLE = MechanismExample(
    mechanism=Student(DEGREES, SMOOTHING, RATE),
    off=Student(DEGREES, SMOOTHING, RATE * OFF),
    sensitivity=WORST,
    left=(0, 1),
    right=(1, 2),
    sample=one_by_one(WORST),
    p_value=p_value_of(pmf(0, 1)),
    hockey_stick=hockey_stick_of(pmf(0, 1), pmf(1, 2)),
    doubles=False,  # a part of the secret is not a value
)
