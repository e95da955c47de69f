"""T63: samples are drawn as they are priced, and priced as another accountant has it.

A sampler is taken for a liar once in 10^7 times, twice over: by the sizes of its samples, and
by how often each unit is in one.
"""

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest
from conftest import Bar
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
from dp_accounting.pld import PLDAccountant
from scipy.stats import chi2

from tacit.lab.dp_sgd import SampledDescent
from tacit.noise.integers import Integers
from tacit.numeric.entropy import SystemEntropy

pytestmark = pytest.mark.claim

SETTINGS = [
    # probability, noise, steps and delta; the first are 60 epochs over 60,000 digits
    (Fraction(256, 60_000), "1.1", 14_040, 1e-5),
    (Fraction(1, 100), "1", 1000, 1e-6),
    (Fraction(1, 20), "2", 2000, 1e-6),
    (Fraction(1, 2), "3", 10, 1e-6),
    (Fraction(1), "8", 40, 1e-6),
    (Fraction(1, 1000), "0.5", 500, 1e-6),
]
UNITS, STEPS, PROBABILITY = 2000, 2000, Fraction(1, 20)
ALARM = 1e-7


def by_the_library(probability: float, noise: float, steps: int, delta: float) -> float:
    accountant = PLDAccountant()
    sample = PoissonSampledDpEvent(probability, GaussianDpEvent(noise))
    accountant.compose(SelfComposedDpEvent(sample, steps))
    return float(accountant.get_epsilon(delta))


def test_t63_the_price_of_samples_is_that_of_another_accountant(bar: Bar) -> None:
    differences = []
    for probability, noise, steps, delta in SETTINGS:
        ours = SampledDescent(probability, steps, 1, Fraction(noise)).loss(delta).amount
        theirs = by_the_library(float(probability), float(noise), steps, delta)
        differences.append(float(ours) - theirs)
    worst = max(map(abs, differences))
    bar("T63 epsilon of samples, from dp_accounting's", worst, "<= 0.001", worst <= 1e-3)
    least = min(differences)
    bar("T63 the same, at its lowest", least, ">= 0, but for rounding", least >= -1e-5)
    probability, noise, steps, delta = SETTINGS[1]
    fewer = SampledDescent(probability, steps * 19 // 20, 1, Fraction(noise)).loss(delta)
    lie = abs(float(fewer.amount) - by_the_library(float(probability), 1.0, steps, delta))
    bar("T63 the lie, one step in 20 forgotten", lie, "> 0.001", lie > 1e-3)


def p_values(samples: Iterable[Integers], probability: float) -> tuple[float, float]:
    """Two chi-squares, of sizes and of units: how likely are sums as far out as these?"""
    sizes, counts = [], np.zeros(UNITS)
    for places in samples:
        sizes.append(places.size)
        counts[places] += 1
    return _p_value(np.array(sizes), UNITS, probability), _p_value(counts, STEPS, probability)


def _p_value(found: np.ndarray, coins: int, probability: float) -> float:
    mean, variance = coins * probability, coins * probability * (1 - probability)
    total = float(((found - mean) ** 2).sum() / variance)
    return float(2 * min(chi2.cdf(total, found.size), chi2.sf(total, found.size)))


def test_t63_a_sample_holds_each_unit_by_a_coin_of_its_own(bar: Bar) -> None:
    descent = SampledDescent(PROBABILITY, STEPS, 100, Fraction(1))
    found = p_values(descent.samples(UNITS, SystemEntropy(b"samples")), float(PROBABILITY))
    for name, value in zip(("sizes", "units"), found, strict=True):
        bar(f"T63 chi-square of samples' {name}: p", value, f">= {ALARM}", value >= ALARM)


def test_t63_batches_that_are_no_samples_are_found(bar: Bar) -> None:
    random, size = np.random.default_rng(63), int(UNITS * PROBABILITY)
    fixed = [random.choice(UNITS, size, replace=False) for _ in range(STEPS)]
    turns = STEPS * size // UNITS
    shuffled = np.concatenate([random.permutation(UNITS) for _ in range(turns)])
    more = SampledDescent(PROBABILITY * Fraction(21, 20), STEPS, 100, Fraction(1))
    lies = {
        "batches of a fixed size": fixed,
        "shuffled batches": shuffled.reshape(STEPS, size),
        "a probability 5% off": more.samples(UNITS, SystemEntropy(b"samples")),
    }
    for name, samples in lies.items():
        value = min(p_values(samples, float(PROBABILITY)))
        bar(f"T63 chi-square of {name}: p", value, f"< {ALARM}", value < ALARM)
