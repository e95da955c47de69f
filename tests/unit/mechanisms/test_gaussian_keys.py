from fractions import Fraction
from itertools import product
from math import exp
from statistics import NormalDist

import numpy as np
import pytest

from tacit.accounting.pricing import delta_at
from tacit.core.event import Composed, GaussianNoise, KeySelectionV2
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.threshold_keys import GREATEST_VARIANCE, GaussianKeys

CASES = [(1, 1e-6, 1), (16, 0.02, 3), (100, 1e-5, 10), (1000, 1e-3, 40), (0.1, 0.3, 2)]
TWO = Sensitivity(Fraction(2), Norm.L2, Rule("a unit counts once in each of two keys"))


def tail(variance: float, size: int) -> float:
    """P(noise >= size) of the discrete law."""
    support = np.arange(-500, 501)
    weights = np.exp(-(support**2) / (2 * variance))
    return float(weights[support >= size].sum() / weights.sum())


@pytest.mark.parametrize(("variance", "delta", "max_keys"), CASES)
def test_the_threshold_is_the_least_that_one_units_keys_seldom_reach(
    variance: float, delta: float, max_keys: int
) -> None:
    keys = GaussianKeys(Fraction(str(variance)), Fraction(str(delta)), max_keys)
    any_shows = [1 - (1 - tail(variance, keys.threshold - 1 - i)) ** max_keys for i in (0, 1)]
    assert any_shows[0] <= delta < any_shows[1]


def test_the_threshold_of_the_continuous_law_would_show_too_many() -> None:
    delta = 0.0014
    found = GaussianKeys(Fraction(1), Fraction(str(delta)), max_keys=1).threshold
    continuous = int(np.ceil(1 - NormalDist().inv_cdf(delta)))
    assert tail(1, found - 1) <= delta < tail(1, continuous - 1)


def test_the_event_is_noise_on_all_keys_and_a_chance_to_show_a_new_one() -> None:
    assert GaussianKeys(Fraction(4), Fraction(1, 50), max_keys=2).event(TWO) == Composed(
        (
            GaussianNoise(Fraction(2), Fraction(4)),
            KeySelectionV2(Fraction(0), Fraction(1, 50), max_keys=1),
        )
    )


def law(units: tuple[int, ...], threshold: int) -> dict[tuple[int, ...], float]:
    """Of what is released of several keys, with noise of variance 4."""

    def one(count: int) -> dict[int, float]:
        whole = sum(exp(-(y**2) / 8) for y in range(-40, 41))
        mass = {count + y: exp(-(y**2) / 8) / whole for y in range(-40, 41)}
        kept = {noisy: mass[noisy] for noisy in mass if noisy >= threshold and count}
        return kept | {0: 1 - sum(kept.values())}

    laws = [one(count) for count in units]
    return {
        places: float(np.prod([mass[place] for mass, place in zip(laws, places, strict=True)]))
        for places in product(*laws)
    }


@pytest.mark.parametrize("before", [(0, 0), (6, 0), (6, 6), (3, 9)], ids=str)
def test_old_keys_and_new_ones_stay_below_the_claim(before: tuple[int, int]) -> None:
    keys = GaussianKeys(Fraction(4), Fraction(1, 50), max_keys=2)
    left = law(before, keys.threshold)
    right = law((before[0] + 1, before[1] + 1), keys.threshold)
    for epsilon in (0, 0.5, 1, 2, 3, 6):
        found = max(
            sum(max(0.0, p[r] - exp(epsilon) * q.get(r, 0.0)) for r in p)
            for p, q in ((left, right), (right, left))
        )
        claimed = delta_at(keys.event(TWO), Fraction(str(epsilon)))
        assert found <= float(claimed) + 1e-12
        if epsilon == 6 and 0 in before:  # the lie forgets new keys
            assert found > float(delta_at(GaussianNoise(Fraction(2), Fraction(4)), Fraction(6)))


@pytest.mark.parametrize(
    "variance", [Fraction(0), Fraction(-1), Fraction(GREATEST_VARIANCE + 1)]
)
def test_a_variance_that_cannot_be_summed_is_refused(variance: Fraction) -> None:
    with pytest.raises(InvalidValue, match="variance"):
        GaussianKeys(variance, Fraction(1, 50), max_keys=1)
