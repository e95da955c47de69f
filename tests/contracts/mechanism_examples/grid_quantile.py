from fractions import Fraction
from itertools import pairwise
from math import exp, inf

import numpy as np

from tacit.core.secret import Secret
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.grid_quantiles import GridQuantile
from tacit.mechanisms.mechanism import Mechanism
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.mechanism_contract import (
    Draws,
    MechanismExample,
    Pmf,
    hockey_stick_of,
    l1,
    p_value_of,
)

CELLS, PROBABILITY, MARGIN = 4, 0.75, 4
# many equal values hold the rank by about the margin: one more far above tips what is chosen
LEFT, RIGHT = (20, 1, 1, 0), (20, 1, 1, 1)
DRAWS = 60_000
GRID = GridQuantile(
    Fraction("0.75"), Fraction(1), Fraction(2), CELLS, max_groups=1, confidence=Fraction("0.95")
)


def chances(rate: float, away: list[float]) -> list[float]:
    weights = [exp(-rate * max(distance, 0)) for distance in away]
    return [weight / sum(weights) for weight in weights]


def pmf(counts: tuple[int, ...]) -> Pmf:
    wanted = PROBABILITY * sum(counts)
    least = [sum(counts[:place]) - wanted for place in range(CELLS)]
    most = [sum(counts[: place + 1]) - wanted for place in range(CELLS)]
    found = {}
    away = [max(low, -high) for low, high in zip(least, most, strict=True)]
    for cell, chance in enumerate(chances(1, away)):
        held = [-inf]
        for reach in range(CELLS):
            before = inf if cell - reach <= 0 else -least[cell - reach]
            after = inf if cell + reach >= CELLS - 1 else most[cell + reach]
            held.append(min(before, after))
        far = [max(shorter - MARGIN, MARGIN - own) for shorter, own in pairwise(held)]
        for reach, share in enumerate(chances(2, far)):
            found[cell, reach] = chance * share
    return found


def sample(mechanism: Mechanism, secret: tuple[int, ...], count: int) -> Draws:
    """Releases of as many groups at once."""
    gateway = LiveGateway(SystemEntropy(b"example"))
    box = Secret(np.tile(np.array(secret), count))
    return mechanism.release(box, l1(1), gateway).reshape(count, 2)


assert GRID.margin == MARGIN
EXAMPLE = MechanismExample(
    mechanism=GRID,
    off=GridQuantile(Fraction("0.75"), Fraction(95, 100), Fraction(2), CELLS, max_groups=1),
    sensitivity=l1(1),
    left=LEFT,
    right=RIGHT,
    sample=sample,
    p_value=p_value_of(pmf(LEFT)),
    hockey_stick=hockey_stick_of(pmf(LEFT), pmf(RIGHT)),
)
