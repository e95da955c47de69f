"""The time of a single draw does not tell whether the noise is large or small."""

import gc
from collections.abc import Callable
from fractions import Fraction
from time import perf_counter_ns

import numpy as np
import pytest
from conftest import Bar
from scipy.stats import rankdata

from tacit.noise.gaussian import DiscreteGaussian
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.entropy import SystemEntropy
from tacit.testing import discrete_laplace

pytestmark = pytest.mark.claim

DRAWS = 20_000
MOST = 0.55

SAMPLERS = {
    "laplace 30": DiscreteLaplace(Fraction(30)),
    "laplace 10^6": DiscreteLaplace(Fraction(10**6)),
    "gaussian 30": DiscreteGaussian(Fraction(30**2)),
    "gaussian 10^6": DiscreteGaussian(Fraction(10**12)),
}


def guessed(draw: Callable[[], int], draws: int) -> float:
    """The AUC of the better guess: that long draws are the large ones, or the small ones."""
    times, sizes = np.empty(draws), np.empty(draws)
    gc.disable()
    try:
        for i in range(draws):
            began = perf_counter_ns()
            drawn = draw()
            times[i] = perf_counter_ns() - began
            sizes[i] = abs(drawn)
    finally:
        gc.enable()
    large = sizes > np.median(sizes)
    pairs = large.sum() * (~large).sum()
    above = rankdata(times)[large].sum() - large.sum() * (large.sum() + 1) / 2
    return float(max(above / pairs, 1 - above / pairs))


@pytest.mark.parametrize("name", SAMPLERS)
def test_time_does_not_tell_the_size(name: str, bar: Bar) -> None:
    entropy, sampler = SystemEntropy(b"timing"), SAMPLERS[name]
    sampler.draw(entropy, 1)  # the table is made once, from public facts
    auc = guessed(lambda: int(sampler.draw(entropy, 1)[0]), DRAWS)
    bar(f"AUC of guessing the size from the time, {name}", auc, f"<= {MOST}", auc <= MOST)


def test_the_time_of_the_published_sampler_is_caught(bar: Bar) -> None:
    entropy = SystemEntropy(b"timing")
    auc = guessed(lambda: discrete_laplace(entropy, Fraction(30)), 5000)
    bar("AUC of the published sampler, which must show", auc, f"> {MOST}", auc > MOST)
