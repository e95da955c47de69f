from fractions import Fraction

from law_sizes import OFF, slow

from tacit.accounting.curves import lomax_factor
from tacit.robust.smooth_noise import Lomax
from tacit.testing.mechanism_contract import (
    MechanismExample,
    Pmf,
    hockey_stick_of,
    linf,
    one_by_one,
    p_value_of,
)

EPSILON, SMOOTHING = Fraction(3), Fraction("0.6932")  # just above log(2)
DRAWS = slow(50_000)  # one by one, and enough to reject five percent
WORST = linf(100)


def pmf(value: int, smooth_sensitivity: int) -> Pmf:
    scale = float(lomax_factor(EPSILON, SMOOTHING)) * smooth_sensitivity
    tail = float(EPSILON / SMOOTHING)

    def above(size: float) -> float:
        return 0.5 * (1 + size / scale) ** -tail

    law = {(value,): 1 - 2 * above(0.5)}
    for size in range(1, 1500):
        at = above(size - 0.5) - above(size + 0.5)
        law |= {(value + size,): at, (value - size,): at}
    return law


EXAMPLE = MechanismExample(
    mechanism=Lomax(EPSILON, SMOOTHING),
    off=Lomax(EPSILON * (2 - OFF), SMOOTHING * (2 - OFF)),
    sensitivity=WORST,
    left=(0, 1),
    right=(1, 2),
    sample=one_by_one(WORST),
    p_value=p_value_of(pmf(0, 1)),
    hockey_stick=hockey_stick_of(pmf(0, 1), pmf(1, 2)),
    doubles=False,  # a part of the secret is not a value
)
