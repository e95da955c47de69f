from fractions import Fraction
from math import exp

import numpy as np

from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.grid_quantiles import TreeQuantile
from tacit.mechanisms.mechanism import Mechanism
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.mechanism_contract import (
    Draws,
    MechanismExample,
    Pmf,
    hockey_stick_of,
    p_value_of,
)

VARIANCE = 4
TWO_LEVELS = Sensitivity(Fraction(2), Norm.L2, Rule("a unit moves one node a level by 1"))
WEIGHT = {y: exp(-(y**2) / (2 * VARIANCE)) for y in range(-30, 31)}
LAW = {y: weight / sum(WEIGHT.values()) for y, weight in WEIGHT.items()}


def pmf(moved: int) -> Pmf:
    """Of the two nodes that the unit moves; the others have one law on both sides."""
    return {(a + moved, b + moved): LAW[a] * LAW[b] for a in LAW for b in LAW}


def sample(mechanism: Mechanism, secret: tuple[int, ...], count: int) -> Draws:
    trees = Secret(np.tile(np.array(secret), count))
    released = mechanism.release(trees, TWO_LEVELS, LiveGateway(SystemEntropy(b"example")))
    return released.reshape(count, len(secret))


def p_value(draws: Draws) -> float:
    return p_value_of({(y,): LAW[y] for y in LAW})(draws.reshape(-1, 1))


EXAMPLE = MechanismExample(
    mechanism=TreeQuantile(Fraction(VARIANCE), levels=2, branching=2),
    off=TreeQuantile(VARIANCE * Fraction(95, 100), levels=2, branching=2),
    sensitivity=TWO_LEVELS,
    left=(0, 0, 0, 0, 0, 0),
    right=(1, 0, 1, 0, 0, 0),
    sample=sample,
    p_value=p_value,
    hockey_stick=hockey_stick_of(pmf(0), pmf(1)),
    error_of=lambda draws: abs(draws[:, 0]).astype(float),
)
