from fractions import Fraction
from itertools import permutations
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from tacit.core.event import ExponentialSelection, Repeated
from tacit.core.secret import Secret
from tacit.errors import InvalidValue
from tacit.lab.selection import Peel, TopK
from tacit.mechanisms.gateway import LiveGateway
from tacit.noise.inversion import thresholds
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.entropy import enumerate_law
from tacit.testing.mechanism_contract import l1, linf

Pairs = dict[tuple[int, ...], float]
SMALL = st.lists(st.integers(-6, 6), min_size=4, max_size=4)
MOVES = st.lists(st.sampled_from([-1, 0, 1]), min_size=4, max_size=4)


def pmf(rate: float, scores: list[int]) -> Pairs:
    weights = [exp(rate * score) for score in scores]
    total = sum(weights)
    return {
        (first, second): weights[first] / total * weights[second] / (total - weights[first])
        for first, second in permutations(range(len(scores)), 2)
    }


def draws(mechanism: TopK, scores: list[int], count: int) -> list[tuple[int, ...]]:
    gateway, secret = LiveGateway(SystemEntropy(b"charge")), Secret(np.array(scores))
    return [tuple(mechanism.release(secret, linf(1), gateway).tolist()) for _ in range(count)]


def p_value(drawn: list[tuple[int, ...]], law: Pairs) -> float:
    found = [drawn.count(pair) for pair in law]
    return float(chisquare(found, np.array(list(law.values())) * len(drawn)).pvalue)


def test_frequencies_of_ordered_pairs_are_the_exact_probabilities() -> None:
    scores = [0, 3, 1, 2]
    drawn = draws(TopK(Fraction(1, 2), candidates=4, winners=2), scores, 20_000)
    assert p_value(drawn, pmf(0.5, scores)) > 1e-6
    assert p_value(drawn, pmf(0.5 * 1.2, scores)) < 1e-6
    backwards = {pair[::-1]: weight for pair, weight in pmf(0.5, scores).items()}
    assert p_value(drawn, backwards) < 1e-6


def test_every_script_of_narrow_words_is_drawn_by_the_law() -> None:
    draw, scores = Peel(Fraction(1), candidates=3, winners=2), [0, 1, 2]
    found = enumerate_law(
        lambda entropy: int(draw(np.array(scores), entropy) @ np.array([10, 1])), 5, 3
    )
    tiny = Fraction(1, 10**12)
    assert found.undecided < Fraction(1, 50)
    for (first, second), weight in pmf(1, scores).items():
        assert found.allows(
            10 * first + second, Fraction(weight) - tiny, Fraction(weight) + tiny
        )
    lie = Fraction(pmf(1, scores)[2, 1]) * Fraction("1.1")
    assert not found.allows(21, lie, lie)


@given(SMALL, MOVES)
def test_neighbours_stay_within_the_sum_of_epsilons(
    scores: list[int], moves: list[int]
) -> None:
    left = pmf(0.7, scores)
    right = pmf(0.7, [score + move for score, move in zip(scores, moves, strict=True)])
    one_way = min(moves) >= 0 or max(moves) <= 0
    event = TopK(Fraction("0.7"), 4, 2, monotone=one_way).event(linf(1))
    assert event == Repeated(ExponentialSelection(Fraction("0.7") * (2 - one_way)), 2)
    worst = max(abs(np.log(left[pair] / right[pair])) for pair in left)
    assert worst <= 2 * 0.7 * (2 - one_way) + 1e-12


def test_one_epsilon_for_all_winners_would_be_a_lie() -> None:
    left, right = pmf(1, [9, 9, 0, 0]), pmf(1, [8, 8, 1, 1])
    worst = max(abs(np.log(left[pair] / right[pair])) for pair in left)
    assert 2 < worst <= 4


def test_all_winners_are_an_order_of_all_candidates() -> None:
    drawn = draws(TopK(Fraction(1, 9), candidates=4, winners=4), [0, 3, 1, 2], 200)
    assert {tuple(sorted(order)) for order in drawn} == {(0, 1, 2, 3)}
    assert len(set(drawn)) > 1


def test_nothing_of_the_scores_is_kept() -> None:
    mechanism = TopK(Fraction(1, 3), candidates=3, winners=2)
    draws(mechanism, [0, 1, 2], 1)
    kept = thresholds.cache_info().currsize
    for score in range(50):
        draws(mechanism, [0, 1, score], 1)
    assert thresholds.cache_info().currsize == kept


@pytest.mark.parametrize("winners", [0, 4])
def test_no_winner_and_more_than_the_candidates_are_refused(winners: int) -> None:
    with pytest.raises(InvalidValue, match="winners"):
        TopK(Fraction(1), candidates=3, winners=winners)


def test_a_wrong_rate_norm_or_number_of_scores_is_refused() -> None:
    with pytest.raises(InvalidValue, match="rate above 0"):
        TopK(Fraction(0), 2, 1)
    with pytest.raises(InvalidValue, match="LINF"):
        TopK(Fraction(1), 2, 1).event(l1(1))
    with pytest.raises(InvalidValue, match="batch of 3 values"):
        draws(TopK(Fraction(1), 3, 1), [0, 1], 1)
