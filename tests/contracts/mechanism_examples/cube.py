from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
from numpy.typing import NDArray

from tacit.core.secret import Secret
from tacit.core.sensitivity import Sensitivity
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.vector_noise import AddVector, Cube
from tacit.noise.integers import Integers
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.mechanism_contract import (
    Draws,
    MechanismExample,
    Pmf,
    hockey_stick_of,
    linf,
    p_value_of,
)

SCALE, DIMENSIONS = 2, 2
LEFT, RIGHT = (0, 0), (1, 1)


@dataclass(frozen=True)
class Noise:
    """A gateway that gives the noise of many releases at once, which one alone could not."""

    count: int

    def release(
        self, _secret: Secret[Integers], _sensitivity: Sensitivity, draw: AddVector
    ) -> Integers:
        noise = draw.sampler.draw(SystemEntropy(b"example"), self.count)
        return noise.reshape(self.count, draw.dimensions)


def sample(mechanism: Mechanism, secret: tuple[int, ...], count: int) -> Draws:
    vector = np.array(secret)
    return vector + mechanism.release(Secret(vector), linf(1), Noise(count))


def pmf(secret: tuple[int, ...]) -> Pmf:
    weights = {
        tuple(np.add(secret, z).tolist()): exp(-max(map(abs, z)) / SCALE)
        for z in product(range(-65, 66), repeat=DIMENSIONS)
    }
    whole = sum(weights.values())
    return {release: weight / whole for release, weight in weights.items()}


def farther_from_right(draws: Draws) -> NDArray[np.bool_]:
    """Where the odds are exp(1 / scale): the norm of the noise differs by all of 1."""
    to_left, to_right = abs(draws - LEFT).max(axis=1), abs(draws - RIGHT).max(axis=1)
    return np.asarray(to_left + 1 == to_right)


EXAMPLE = MechanismExample(
    mechanism=Cube(Fraction(SCALE), DIMENSIONS),
    off=Cube(Fraction(SCALE) * Fraction(95, 100), DIMENSIONS),
    sensitivity=linf(1),
    left=LEFT,
    right=RIGHT,
    sample=sample,
    p_value=p_value_of(pmf(LEFT)),
    hockey_stick=hockey_stick_of(pmf(LEFT), pmf(RIGHT)),
    event_of_audit=farther_from_right,
    error_of=lambda draws: abs(draws[:, 0]).astype(float),
)
