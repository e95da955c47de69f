from dataclasses import dataclass
from fractions import Fraction
from math import exp

import numpy as np

from tacit.core.secret import Secret
from tacit.core.sensitivity import Sensitivity
from tacit.lab.propose_test_release import TruncatedLaplace
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.vector_noise import AddVector
from tacit.noise.integers import Integers
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.mechanism_contract import (
    Draws,
    MechanismExample,
    Pmf,
    hockey_stick_of,
    l1,
    p_value_of,
)

SCALE, REACH = 2, 9


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
    return vector + mechanism.release(Secret(vector), l1(1), Noise(count))


def pmf(secret: int) -> Pmf:
    weights = {(secret + y,): exp(-abs(y) / SCALE) for y in range(-REACH, REACH + 1)}
    return {release: weight / sum(weights.values()) for release, weight in weights.items()}


EXAMPLE = MechanismExample(
    mechanism=TruncatedLaplace(Fraction(SCALE), REACH),
    off=TruncatedLaplace(Fraction(SCALE) * Fraction(95, 100), REACH),
    sensitivity=l1(1),
    left=(0,),
    right=(1,),
    sample=sample,
    p_value=p_value_of(pmf(0)),
    hockey_stick=hockey_stick_of(pmf(0), pmf(1)),
    error_of=lambda draws: abs(draws[:, 0]).astype(float),
)
