from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.stats import gamma, kstest

from tacit.accounting.curves import ball_delta
from tacit.core.secret import Secret
from tacit.core.sensitivity import Sensitivity
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.vector_noise import AddVector, Ball
from tacit.noise.integers import Integers
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.mechanism_contract import Draws, MechanismExample, l2

SCALE, DIMENSIONS = 10**6, 3
"""So many steps of the grid that its rounding does not show."""


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
    return vector + mechanism.release(Secret(vector), l2(SCALE), Noise(count))


def p_value(draws: Draws) -> float:
    norms = np.linalg.norm(draws.astype(float), axis=1)
    return float(kstest(norms, gamma(DIMENSIONS, scale=SCALE).cdf).pvalue)


EXAMPLE = MechanismExample(
    mechanism=Ball(Fraction(SCALE), DIMENSIONS),
    off=Ball(Fraction(SCALE) * Fraction(95, 100), DIMENSIONS),
    sensitivity=l2(SCALE),
    left=(0, 0, 0),
    right=(SCALE, 0, 0),
    sample=sample,
    p_value=p_value,
    hockey_stick=lambda epsilon: ball_delta(1.0, DIMENSIONS, epsilon),
    error_of=lambda draws: abs(draws[:, 0]).astype(float),
)
