from fractions import Fraction
from itertools import permutations
from math import exp, prod

from law_sizes import OFF, slow

from tacit.robust.selection import PermuteAndFlip
from tacit.testing.mechanism_contract import (
    MechanismExample,
    Pmf,
    hockey_stick_of,
    linf,
    one_by_one,
    p_value_of,
)

# only the first gap changes, by all of 2: the worst case is attained
LEFT, RIGHT = (2, 2, 0, 0, 0, 0, 0), (1, 3, 1, 1, 1, 1, 1)
DRAWS = slow(80_000)  # of about 45 microseconds each: a rate 5% off shows by 4 standard errors


def pmf(scores: tuple[int, ...]) -> Pmf:
    heads = [exp(score - max(scores)) for score in scores]
    orders = list(permutations(range(len(scores))))

    def chosen(place: int) -> float:
        before = (order[: order.index(place)] for order in orders)
        return sum(prod(1 - heads[other] for other in earlier) for earlier in before)

    return {(place,): heads[place] * chosen(place) / len(orders) for place in range(len(heads))}


EXAMPLE = MechanismExample(
    mechanism=PermuteAndFlip(Fraction(1), candidates=7),
    off=PermuteAndFlip(OFF, candidates=7),
    sensitivity=linf(1),
    left=LEFT,
    right=RIGHT,
    sample=one_by_one(linf(1)),
    p_value=p_value_of(pmf(LEFT)),
    hockey_stick=hockey_stick_of(pmf(LEFT), pmf(RIGHT)),
    event_of_audit=lambda draws: draws[:, 0] == 0,
)
