from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.noise.choice import (
    Exponentials,
    ManyEqual,
    ManyExponentials,
    _powers,
    choose,
    choose_each,
)
from tacit.noise.inversion import Categorical, _certain, thresholds
from tacit.numeric.entropy import Entropy, SystemEntropy
from tacit.numeric.exact_numbers import exp_bounds
from tacit.testing.entropy import ScriptedEntropy, enumerate_law

FAR = np.array([0, 0, -(10**18)])
SCORES = st.lists(
    st.integers(-(2**63), 2**63 - 1) | st.integers(-40, 40), min_size=1, max_size=6
)
RATES = st.fractions(Fraction(1, 10**20), Fraction(50), max_denominator=10**20)


def share(weights: list[int], place: int) -> Fraction:
    return Fraction(weights[place], sum(weights))


def drawing(law: Exponentials) -> Callable[[Entropy], int]:
    return lambda entropy: choose(entropy, law)


@given(SCORES, RATES, st.sampled_from([20, 104]))
def test_the_weights_lie_between_their_bounds(
    scores: list[int], rate: Fraction, precision: int
) -> None:
    law = Exponentials(rate, np.array(scores, dtype=np.int64))
    found = law.weights(precision)
    unit = 2 ** (precision + 1)
    for place, score in enumerate(scores):
        least, most = exp_bounds(-rate * (max(scores) - score), digits=80)
        assert found.lower[place] <= most * unit
        assert found.upper[place] >= least * unit
        assert found.upper[place] - found.lower[place] < 2**15


@given(SCORES)
def test_wide_scores_have_the_weights_of_narrow_ones(scores: list[int]) -> None:
    narrow = Exponentials(Fraction(1, 3), np.array(scores, dtype=np.int64)).weights(104)
    wide = np.array([score + 2**80 for score in scores], dtype=object)
    assert Exponentials(Fraction(1, 3), wide).weights(104) == narrow


def test_bounds_are_not_so_wide_that_any_weight_lies_between_them() -> None:
    found = Exponentials(Fraction(1), np.array([5, 0])).weights(104)
    least, most = exp_bounds(Fraction(-5))
    nearly = Fraction(1, 10**25)
    assert least * (1 - nearly) < Fraction(found.lower[1], found.upper[0])
    assert Fraction(found.upper[1], found.lower[0]) < most * (1 + nearly)


@pytest.mark.parametrize("base", [None, (1, 5, 2)])
def test_every_script_of_narrow_words_is_drawn_by_the_law(base: tuple[int, ...] | None) -> None:
    found = enumerate_law(
        drawing(Exponentials(Fraction(1, 2), np.array([0, 1, 3]), base)), 5, 4
    )
    assert sum(found.outcomes.values()) + found.undecided == 1
    assert found.undecided < Fraction(1, 10**4)
    weights = [
        exp_bounds(Fraction(score, 2))[0] * width
        for score, width in zip([0, 1, 3], base or (1, 1, 1), strict=True)
    ]
    for place, weight in enumerate(weights):
        true, tiny = weight / sum(weights), Fraction(1, 10**40)
        assert found.allows(place, true - tiny, true + tiny)
        assert not found.allows(place, true * Fraction("1.01"), true * Fraction("1.01"))


def test_equal_best_scores_and_one_far_below_take_one_word() -> None:
    law = Exponentials(Fraction(1), FAR)
    assert [choose(ScriptedEntropy([word]), law) for word in (0, 2**63, 2**64 - 2)] == [0, 1, 1]
    # the thresholds of this law would never be certain
    assert all(_certain(law.weights(precision), 64) is None for precision in (104, 1000, 4000))


def test_a_word_that_cannot_decide_is_read_on() -> None:
    third = 2**64 // 3
    for more, outcome in [(0, 0), (2**64 - 1, 1)]:
        entropy = ScriptedEntropy([third, more])
        assert choose(entropy, Categorical((1, 1, 1))) == outcome
        assert entropy.used == 2
    decided = ScriptedEntropy([third - 1, 0])
    assert (choose(decided, Categorical((1, 1, 1))), decided.used) == (0, 1)


@given(st.lists(st.lists(st.integers(-40, 40), min_size=3, max_size=3), min_size=1), RATES)
def test_many_rows_are_drawn_as_each_alone(scores: list[list[int]], rate: Fraction) -> None:
    words = np.random.default_rng(len(scores)).integers(2**63, size=len(scores)).tolist()
    many = choose_each(ScriptedEntropy(words), ManyExponentials(rate, np.array(scores)))
    for row, word, outcome in zip(scores, words, many.tolist(), strict=True):
        assert choose(ScriptedEntropy([word]), Exponentials(rate, np.array(row))) == outcome


def test_of_many_rows_those_that_a_word_cannot_decide_are_read_on() -> None:
    marks, third = np.ones((3, 3), dtype=np.bool_), 2**64 // 3
    entropy = ScriptedEntropy([third, 0, third, 0, 2**64 - 1])
    assert choose_each(entropy, ManyEqual(marks)).tolist() == [0, 0, 1]
    assert entropy.used == 5
    law = ManyExponentials(Fraction(1), np.zeros((2, 3), dtype=np.int64))
    assert choose_each(ScriptedEntropy([third, 0, 0]), law).tolist() == [0, 0]


def test_an_outcome_without_weight_is_never_drawn() -> None:
    found = enumerate_law(lambda entropy: choose(entropy, Categorical((0, 1, 0, 1, 0))), 4, 2)
    assert found.outcomes == {1: Fraction(1, 2), 3: Fraction(1, 2)}


def test_a_law_of_secret_scores_is_neither_kept_nor_printed() -> None:
    law = Exponentials(Fraction(1), np.array([41, 7]))
    with pytest.raises(TypeError, match="unhashable"):
        thresholds(law, 64)
    assert "41" not in repr(law)
    entropy = SystemEntropy(b"charge")
    choose(entropy, law)
    kept = thresholds.cache_info().currsize, _powers.cache_info().currsize
    for score in range(1000, 1050):
        choose(entropy, Exponentials(Fraction(1), np.array([41, score])))
    assert (thresholds.cache_info().currsize, _powers.cache_info().currsize) == kept
    # it does grow with a public rate
    choose(entropy, Exponentials(Fraction(977, 978), np.array([41, 7])))
    assert _powers.cache_info().currsize > kept[1]
