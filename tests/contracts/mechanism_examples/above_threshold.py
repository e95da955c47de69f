from fractions import Fraction
from math import exp

import numpy as np

from tacit.mechanisms.sparse_vector import SparseVector
from tacit.testing.mechanism_contract import (
    Draws,
    MechanismExample,
    Pmf,
    hockey_stick_of,
    linf,
    one_by_one,
    p_value_of,
)

DRAWS = 10_000
"""Enough: five percent less noise move the rate of passing, in its tail, by 15 percent."""

QUERIES = 40
LEFT = (-3,) * QUERIES
RIGHT = (-4,) * (QUERIES - 1) + (-2,)


def tail(scale: float, size: int) -> float:
    """P(noise >= size) of the discrete Laplace law."""
    ratio = exp(-1 / scale)
    return ratio**size / (1 + ratio) if size > 0 else 1 - ratio ** (1 - size) / (1 + ratio)


def pmf(answers: tuple[int, ...]) -> Pmf:
    """Of the first pass, or of none: threshold noise of scale 1/2, query noise of scale 1."""
    first = np.zeros(QUERIES + 1)
    for noise in range(-30, 31):
        still = tail(0.5, noise) - tail(0.5, noise + 1)
        for place, answer in enumerate(answers):
            passes = tail(1.0, noise - answer)
            first[place] += still * passes
            still *= 1 - passes
        first[QUERIES] += still
    return {(place,): float(mass) for place, mass in enumerate(first)}


def first_pass(draws: Draws) -> Draws:
    found = np.where(draws.any(axis=1), draws.argmax(axis=1), QUERIES)
    assert np.array_equal(draws.sum(axis=1), found < QUERIES)
    return found.reshape(-1, 1)


EXAMPLE = MechanismExample(
    mechanism=SparseVector(Fraction(2), Fraction(2), passes=1, monotone=False),
    off=SparseVector(2 / Fraction(95, 100), 2 / Fraction(95, 100), passes=1, monotone=False),
    sensitivity=linf(1),
    left=LEFT,
    right=RIGHT,
    sample=one_by_one(linf(1)),
    p_value=lambda draws: p_value_of(pmf(LEFT))(first_pass(draws)),
    hockey_stick=hockey_stick_of(pmf(LEFT), pmf(RIGHT)),
)
