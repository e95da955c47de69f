"""What is known of streams apart from our code: lower bounds, and the path of noise."""

from math import pi, sin

import numpy as np

from tacit.noise.gaussian import DiscreteGaussian
from tacit.numeric.entropy import SystemEntropy
from tacit.stream.factor import Factor, Memory, Window


def lower_bound(horizon: int) -> float:
    """No factorisation of running sums has a lower root mean square: the trace norm says so.

    Reference: Henzinger, Upadhyay, Upadhyay 2023, theorem 4; singular values by Elliott 1953.
    """
    values = [
        1 / (2 * sin((2 * j - 1) * pi / (4 * horizon + 2))) for j in range(1, horizon + 1)
    ]
    return sum(values) / horizon


def shown_noise(factor: Factor, window: Window, variance: int, streams: int) -> np.ndarray:
    """The noise of what is shown at each step of many streams, in whole numbers."""
    entropy, memory, totals = SystemEntropy(b"claim"), (), [np.zeros(streams)]
    law = DiscreteGaussian(variance)
    remembered: Memory = memory
    for number in range(factor.horizon):
        noise, remembered = factor.next(number, remembered, law.draw(entropy, streams))
        totals.append(totals[-1] + noise.astype(float) / 2**factor.bits)
    wide = factor.horizon if window.steps is None else window.steps
    return np.array([totals[t] - totals[max(0, t - wide)] for t in range(1, len(totals))])
