"""Quantiles on a grid are chosen by the law of permute and flip."""

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
from scipy.stats import chisquare

from tacit.core.secret import Secret
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.grid_quantiles import GridQuantile, cell_scores
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.mechanism_contract import l1

HALF = Fraction(1, 2)


def rows(counts: list[int]) -> np.ndarray:
    return np.array([counts], dtype=object)


def drawn(mechanism: GridQuantile, counts: list[int], times: int) -> np.ndarray:
    gateway = LiveGateway(SystemEntropy(b"charge"))
    secret = Secret(np.tile(np.array(counts), times))
    return mechanism.release(secret, l1(1), gateway).reshape(times, 2)


def test_coins_follow_the_law_of_permute_and_flip() -> None:
    counts, times = [1, 3, 1, 2], 20_000
    mechanism = GridQuantile(HALF, Fraction(1, 2), Fraction(1), 4, max_groups=1, flips=True)
    gaps = [-float(score) / 2 for score in cell_scores(rows(counts), HALF)[0]]
    wanted = np.zeros(4)
    for heads in product([0, 1], repeat=4):
        coins = [
            exp(-gap / 2) if head else 1 - exp(-gap / 2)
            for head, gap in zip(heads, gaps, strict=True)
        ]
        if sum(heads):
            wanted += np.prod(coins) * np.array(heads) / sum(heads)
    found = np.bincount(drawn(mechanism, counts, times)[:, 0], minlength=4)
    assert chisquare(found, wanted * times).pvalue > 1e-6
    weights = np.exp(-np.array(gaps) / 2)
    assert chisquare(found, weights / weights.sum() * times).pvalue < 1e-6
