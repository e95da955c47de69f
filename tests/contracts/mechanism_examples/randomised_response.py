from fractions import Fraction

from tacit.mechanisms.randomised_response import RandomisedResponse
from tacit.testing.mechanism_contract import (
    MechanismExample,
    Pmf,
    hockey_stick_of,
    linf,
    p_value_of,
    side_by_side,
)

CHOICES = 4


def pmf(answer: int) -> Pmf:
    return {(told,): 2 / 3 if told == answer else 1 / 9 for told in range(CHOICES)}


EXAMPLE = MechanismExample(
    mechanism=RandomisedResponse(Fraction(2, 3), CHOICES),
    off=RandomisedResponse(Fraction(2, 3) * Fraction(95, 100), CHOICES),
    sensitivity=linf(3),
    left=(0,),
    right=(3,),
    sample=side_by_side(linf(3)),
    p_value=p_value_of(pmf(0)),
    hockey_stick=hockey_stick_of(pmf(0), pmf(3)),
    event_of_audit=lambda draws: draws[:, 0] == 0,
    error_of=lambda draws: draws[:, 0].astype(float),
)
