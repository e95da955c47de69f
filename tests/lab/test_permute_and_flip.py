from fractions import Fraction
from itertools import permutations, product
from math import exp, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from tacit.core.event import PermuteAndFlipSelectionV2
from tacit.core.secret import Secret
from tacit.errors import InvalidValue
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.gateway import LiveGateway
from tacit.noise.inversion import thresholds
from tacit.numeric.entropy import SystemEntropy
from tacit.numeric.exact_numbers import exp_bounds
from tacit.robust.selection import FlipAll, PermuteAndFlip
from tacit.testing.entropy import enumerate_law
from tacit.testing.mechanism_contract import l1, linf

ERRORS = list(range(-200, -300, -10))
"""Scores of ten classifiers: 200 to 290 errors in 1000."""
SMALL = st.lists(st.integers(-6, 6), min_size=4, max_size=4)
MOVES = st.lists(st.sampled_from([-1, 0, 1]), min_size=4, max_size=4)


def by_order(rate: float, scores: list[int]) -> np.ndarray:
    """The definition: all orders, and the first heads in each."""
    heads = [exp(rate * (score - max(scores))) for score in scores]
    found = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        for turn, place in enumerate(order):
            found[place] += heads[place] * prod(1 - heads[before] for before in order[:turn])
    return found / len(orders)


def by_coins(rate: float, scores: list[int]) -> np.ndarray:
    """Another way: all falls of the coins, and one heads of each."""
    heads = np.exp(rate * (np.array(scores) - max(scores)))
    found = np.zeros(len(scores))
    for fall in product([0, 1], repeat=len(scores)):
        fell = np.array(fall)
        if fell.any():
            found += np.prod(np.where(fell, heads, 1 - heads)) * fell / fell.sum()
    return found


def draws(mechanism: PermuteAndFlip, scores: list[int], count: int) -> np.ndarray:
    gateway, secret = LiveGateway(SystemEntropy(b"charge")), Secret(np.array(scores))
    return np.array([mechanism.release(secret, linf(1), gateway)[0] for _ in range(count)])


@settings(deadline=None)
@given(SMALL)
def test_one_of_the_heads_is_the_first_in_random_order(scores: list[int]) -> None:
    assert np.allclose(by_order(0.5, scores), by_coins(0.5, scores), rtol=1e-12)


def test_frequencies_of_five_candidates_are_the_exact_probabilities() -> None:
    scores, count = [0, 4, 0, 6, 0], 20_000
    found = np.bincount(draws(PermuteAndFlip(Fraction(1, 2), 5), scores, count), minlength=5)
    assert chisquare(found, by_order(0.5, scores) * count).pvalue > 1e-6
    assert chisquare(found, by_order(0.5 * 1.1, scores) * count).pvalue < 1e-6


def test_the_best_of_ten_classifiers_is_chosen_as_often_as_claimed() -> None:
    mechanism = PermuteAndFlip(Fraction(1, 4), candidates=10)
    assert mechanism.event(linf(1)) == PermuteAndFlipSelectionV2(Fraction(1, 2))
    exact = by_coins(0.25, ERRORS)[0]
    assert abs(exact - 0.955) < 0.0005
    assert abs(np.mean(draws(mechanism, ERRORS, 60_000) == 0) - 0.955) < 0.005
    assert by_coins(0.2, ERRORS)[0] < 0.955 - 0.005


def test_every_script_of_narrow_words_is_drawn_by_the_law() -> None:
    draw = FlipAll(Fraction(3), candidates=2)
    found = enumerate_law(lambda entropy: int(draw(np.array([1, 0]), entropy)[0]), 4, 5)
    true, tiny = 1 - exp_bounds(Fraction(-3))[0] / 2, Fraction(1, 10**40)
    assert sum(found.outcomes.values()) + found.undecided == 1
    assert found.undecided < Fraction(1, 100)
    assert found.allows(0, true - tiny, true + tiny)
    # what the exponential mechanism would give
    other = 1 / (1 + exp_bounds(Fraction(-3))[1])
    assert not found.allows(0, other, other)


@settings(deadline=None)
@given(SMALL, MOVES)
def test_neighbours_stay_within_epsilon(scores: list[int], moves: list[int]) -> None:
    moved = [score + move for score, move in zip(scores, moves, strict=True)]
    losses = np.log(by_coins(0.7, scores) / by_coins(0.7, moved))
    one_way = min(moves) >= 0 or max(moves) <= 0
    epsilon = PermuteAndFlip(Fraction("0.7"), 4, monotone=one_way).event(linf(1)).epsilon
    assert np.abs(losses).max() <= float(epsilon) + 1e-12


def test_epsilon_is_attained_and_less_would_be_a_lie() -> None:
    losses = np.log(by_coins(1, [2, 2, 0]) / by_coins(1, [1, 3, 1]))
    assert abs(np.abs(losses).max() - 2) < 1e-12
    assert PermuteAndFlip(Fraction(1), 3, monotone=True).event(linf(1)).epsilon == 1


@settings(deadline=None)
@given(SMALL, st.integers(0, 99))
def test_the_shortfall_is_below_its_bound(scores: list[int], percent: int) -> None:
    bound = PermuteAndFlip(Fraction(1, 2), 4).error(Fraction(percent, 100))
    good = max(scores) - np.array(scores) <= bound
    assert by_coins(0.5, scores)[good].sum() >= percent / 100 - 1e-12


def test_the_shortfall_is_below_that_of_the_exponential_mechanism() -> None:
    confidence = Fraction("0.95")
    flip, choose = PermuteAndFlip(Fraction(1, 2), 9), Exponential(Fraction(1, 2), 9)
    assert abs(float(choose.error(confidence) - flip.error(confidence)) - 2 * np.log(2)) < 1e-9
    far = [0] + [-int(flip.error(confidence)) + 3] * 8
    assert by_coins(0.5, far)[0] < 0.95


@pytest.mark.parametrize("wide", [[2**63 - 1, -(2**63)], [2**90, 0]])
@pytest.mark.parametrize("rate", [Fraction(1), Fraction(10**25, 10**25 + 1)])
def test_scores_far_apart_do_not_wrap(wide: list[int], rate: Fraction) -> None:
    assert draws(PermuteAndFlip(rate, 2), wide, 20).tolist() == [0] * 20
    assert draws(PermuteAndFlip(rate, 2), wide[::-1], 20).tolist() == [1] * 20


def test_nothing_of_the_scores_is_kept() -> None:
    mechanism = PermuteAndFlip(Fraction(1, 3), candidates=2)
    draws(mechanism, [0, 1], 1)
    kept = thresholds.cache_info().currsize
    for score in range(50):
        draws(mechanism, [0, score], 1)
    assert thresholds.cache_info().currsize == kept


def test_a_wrong_rate_norm_or_number_of_scores_is_refused() -> None:
    with pytest.raises(InvalidValue, match="rate above 0"):
        PermuteAndFlip(Fraction(0), 2)
    with pytest.raises(InvalidValue, match="LINF"):
        PermuteAndFlip(Fraction(1), 2).event(l1(1))
    with pytest.raises(InvalidValue, match="batch of 3 values"):
        draws(PermuteAndFlip(Fraction(1), 3), [0, 1], 1)
