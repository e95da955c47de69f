from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.event import ExponentialSelection
from tacit.core.secret import Secret
from tacit.core.sensitivity import Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.exponential import ChooseOne, Exponential
from tacit.mechanisms.gateway import LiveGateway
from tacit.noise.inversion import thresholds
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.entropy import enumerate_law
from tacit.testing.mechanism_contract import l1, l2, linf

SMALL = st.lists(st.integers(-8, 8), min_size=2, max_size=6)
MOVES = st.lists(st.sampled_from([-1, 0, 1]), min_size=6, max_size=6)


def pmf(rate: float, scores: list[int]) -> np.ndarray:
    weights = np.exp(rate * (np.array(scores) - max(scores)))
    return weights / weights.sum()


def draws(mechanism: Exponential, scores: list[int], count: int) -> np.ndarray:
    gateway, secret = LiveGateway(SystemEntropy(b"charge")), Secret(np.array(scores))
    return np.array([mechanism.release(secret, linf(1), gateway)[0] for _ in range(count)])


def test_every_script_of_narrow_words_is_drawn_by_the_law() -> None:
    draw = ChooseOne(Fraction(1), candidates=2)
    found = enumerate_law(lambda entropy: int(draw(np.array([0, 1]), entropy)[0]), 4, 4)
    true, tiny = Fraction(1 / (1 + exp(-1))), Fraction(1, 10**15)
    assert found.undecided < Fraction(1, 10**4)
    assert found.allows(1, true - tiny, true + tiny)
    assert not found.allows(1, true * Fraction("1.001"), true * Fraction("1.001"))


@given(SMALL, MOVES)
def test_neighbours_stay_within_epsilon(scores: list[int], moves: list[int]) -> None:
    rate = 0.7
    moved = [score + move for score, move in zip(scores, moves, strict=False)]
    losses = np.log(pmf(rate, scores) / pmf(rate, moved))
    one_way = min(moves[: len(scores)]) >= 0 or max(moves[: len(scores)]) <= 0
    epsilon = float(Exponential(Fraction("0.7"), 6, monotone=one_way).event(linf(1)).epsilon)
    assert np.ptp(losses) <= epsilon + 1e-12
    assert np.abs(losses).max() <= epsilon + 1e-12


def test_scores_that_move_both_ways_are_not_monotone() -> None:
    losses = np.log(pmf(1, [0, 8]) / pmf(1, [1, 7]))
    monotone = Exponential(Fraction(1), 2, monotone=True).event(linf(1))
    assert monotone == ExponentialSelection(Fraction(1))
    assert np.abs(losses).max() > 1.9 > float(monotone.epsilon)


@given(SMALL, st.integers(0, 99))
def test_the_shortfall_is_below_its_bound(scores: list[int], percent: int) -> None:
    bound = Exponential(Fraction(1, 2), len(scores)).error(Fraction(percent, 100))
    good = max(scores) - np.array(scores) <= bound
    assert pmf(0.5, scores)[good].sum() >= percent / 100


def test_half_of_the_bound_is_passed_too_often() -> None:
    mechanism = Exponential(Fraction(1, 2), candidates=1000)
    bound = float(mechanism.error(Fraction("0.95")))
    assert abs(bound - 2 * (log(1000) + log(20))) < 1e-9
    far = [0] + [-int(bound / 2) - 1] * 999
    assert pmf(0.5, far)[0] < 0.95


def test_nothing_of_the_scores_is_kept() -> None:
    mechanism = Exponential(Fraction(1, 3), candidates=2)
    draws(mechanism, [0, 1], 1)
    kept = thresholds.cache_info().currsize
    for score in range(50):
        draws(mechanism, [0, score], 1)
    assert thresholds.cache_info().currsize == kept


@pytest.mark.parametrize("wide", [[2**63 - 1, -(2**63)], [2**90, 0]])
def test_scores_far_apart_do_not_wrap(wide: list[int]) -> None:
    assert draws(Exponential(Fraction(1), 2), wide, 20).tolist() == [0] * 20
    assert draws(Exponential(Fraction(1), 2), wide[::-1], 20).tolist() == [1] * 20


@pytest.mark.parametrize(("rate", "candidates"), [(0, 2), (-1, 2), (1, 0)])
def test_what_is_no_choice_is_refused(rate: int, candidates: int) -> None:
    with pytest.raises(InvalidValue):
        Exponential(Fraction(rate), candidates)


@pytest.mark.parametrize("sensitivity", [l1(1), l2(1)])
def test_another_norm_is_refused(sensitivity: Sensitivity) -> None:
    gateway = LiveGateway(SystemEntropy(b"charge"))
    with pytest.raises(InvalidValue, match="LINF"):
        Exponential(Fraction(1), 2).event(sensitivity)
    with pytest.raises(InvalidValue, match="LINF"):
        Exponential(Fraction(1), 2).release(Secret(np.array([0, 1])), sensitivity, gateway)


def test_another_number_of_scores_and_a_confidence_of_one_are_refused() -> None:
    with pytest.raises(InvalidValue, match="batch of 3 values"):
        draws(Exponential(Fraction(1), 3), [0, 1], 1)
    with pytest.raises(InvalidValue, match="confidence"):
        Exponential(Fraction(1), 3).error(Fraction(1))
