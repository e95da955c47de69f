from fractions import Fraction
from math import exp

from law_sizes import OFF, slow

from tacit.lab.selection import IntervalExponential
from tacit.testing.mechanism_contract import (
    MechanismExample,
    Pmf,
    hockey_stick_of,
    linf,
    one_by_one,
    p_value_of,
)

WIDTHS = (8, 1, 3)
LEFT, RIGHT = (0, 3, 1), (1, 2, 0)
DRAWS = slow(40_000)  # of about 45 microseconds each: a rate 5% off shows by 4 standard errors


def pmf(scores: tuple[int, ...]) -> Pmf:
    cells = zip(scores, WIDTHS, strict=True)
    points = [exp(score) for score, width in cells for _ in range(width)]
    return {(place,): weight / sum(points) for place, weight in enumerate(points)}


EXAMPLE = MechanismExample(
    mechanism=IntervalExponential(Fraction(1), WIDTHS),
    off=IntervalExponential(OFF, WIDTHS),
    sensitivity=linf(1),
    left=LEFT,
    right=RIGHT,
    sample=one_by_one(linf(1)),
    p_value=p_value_of(pmf(LEFT)),
    hockey_stick=hockey_stick_of(pmf(LEFT), pmf(RIGHT)),
)
