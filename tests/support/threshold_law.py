"""The law of the sparse vector technique, apart from the code that draws it."""

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np

from tacit.audit.replay import RecordingGateway
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.mechanisms.sparse_vector import PassThreshold, SparseVector
from tacit.numeric.entropy import SystemEntropy

Law = dict[tuple[int, ...], float]


def linf(amount: Fraction) -> Sensitivity:
    return Sensitivity.of(amount, Norm.LINF, Rule("a test"))


def draw_of(sparse: SparseVector, sensitivity: Fraction = Fraction(1)) -> PassThreshold:
    gateway = RecordingGateway(SystemEntropy(b"test"))
    sparse.release(Secret(np.array([0])), linf(sensitivity), gateway)
    draw = gateway.calls[0].draw
    assert isinstance(draw, PassThreshold)
    return draw


def tail(scale: float, size: int) -> float:
    """P(noise >= size) of the discrete Laplace law; no noise at scale 0."""
    if scale == 0:
        return float(size <= 0)
    ratio = exp(-1 / scale)
    return ratio**size / (1 + ratio) if size > 0 else 1 - ratio ** (1 - size) / (1 + ratio)


def law(
    answers: tuple[int, ...], threshold_scale: float, query_scale: float, passes: int
) -> Law:
    """Return the probability of each release, by summing over the noisy threshold."""
    found = dict.fromkeys(product((0, 1), repeat=len(answers)), 0.0)
    for noise in range(-80, 81):
        at = tail(threshold_scale, noise) - tail(threshold_scale, noise + 1)
        for release in found:
            mass, passed = at, 0
            for answer, above in zip(answers, release, strict=True):
                chance = tail(query_scale, noise - answer) if passed < passes else 0.0
                mass *= chance if above else 1 - chance
                passed += above
            found[release] += mass
    return found
