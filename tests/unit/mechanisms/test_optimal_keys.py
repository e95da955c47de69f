from fractions import Fraction
from itertools import pairwise
from math import exp, floor, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidValue
from tacit.mechanisms.optimal_keys import LONGEST_TABLE, KeepKeys, OptimalKeys, keeping_table
from tacit.numeric.entropy import SystemEntropy
from tacit.numeric.exact_numbers import exp_bounds
from tacit.testing.entropy import ScriptedEntropy, enumerate_law

PAIRS = [(1.0, 1e-6), (0.1, 1e-6), (0.5, 1e-5), (2.0, 1e-9), (0.05, 1e-4), (3.0, 0.01)]
MILLIONTH = Fraction(1, 10**6)


def closed_form(units: int, epsilon: float, delta: float) -> float:
    grown = exp(epsilon)
    turn = 1 + floor(log((grown + 2 * delta - 1) / ((grown + 1) * delta)) / epsilon)
    at_turn = delta * (exp(min(units, turn) * epsilon) - 1) / (grown - 1)
    if units <= turn:
        return at_turn
    left = exp(-(units - turn) * epsilon)
    return min(1.0, (1 - left) * (1 + delta / (grown - 1)) + left * at_turn)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_the_recursion_is_the_closed_form(epsilon: float, delta: float) -> None:
    keys = OptimalKeys(Fraction(str(epsilon)), Fraction(str(delta)), max_keys=1)
    units = range(len(keeping_table(keys.epsilon, keys.delta)) + 5)
    wanted = [closed_form(count, epsilon, delta) for count in units]
    found = [float(keys.probability(count)) for count in units]
    assert np.abs(np.subtract(found, wanted)).max() < 1e-12
    assert np.abs(np.subtract(found, [*wanted[1:], 1.0])).max() > 0.01
    assert found[-6:] == [1.0] * 6


def allowed(before: int, after: int, growth: int, step: int) -> bool:
    """Whether two neighbours' probabilities surely keep (epsilon, delta), all four ways."""
    one = 2**256
    pairs = [(before, after), (one - before, one - after)]
    pairs += [(right, left) for left, right in pairs]
    return all(left << 400 <= growth * right + step for left, right in pairs)


@given(
    st.fractions(Fraction(1, 50), 5, max_denominator=1000),
    st.fractions(Fraction(1, 10**12), Fraction(99, 100), max_denominator=10**12),
)
def test_the_rounded_table_keeps_the_promise_and_more_would_break_it(
    epsilon: Fraction, delta: Fraction
) -> None:
    table = keeping_table(epsilon, delta)
    growth = (exp_bounds(epsilon, digits=150)[0] * 2**400).__floor__()
    step = (delta * 2**656).__floor__()
    assert (table[0], table[-1]) == (0, 2**256)
    for before, after in pairwise(table):
        assert allowed(before, after, growth, step)
        assert after == 2**256 or not allowed(before, after + 2**60, growth, step)


@pytest.mark.parametrize(("epsilon", "half"), [(Fraction(1), 14), (Fraction(1, 10), 109)])
def test_half_of_the_keys_are_kept_from_few_units_on(epsilon: Fraction, half: int) -> None:
    keys = OptimalKeys(epsilon, MILLIONTH, max_keys=1)
    assert keys.probability(half) >= Fraction(1, 2) > keys.probability(half - 1)
    assert keys.error(Fraction(1, 2)) == half - 1


@pytest.mark.parametrize("units", [1, 2, 3, 4])
def test_the_draw_has_exactly_the_probability(units: int) -> None:
    keys = OptimalKeys(Fraction(1), Fraction(1, 10), max_keys=1)
    draw = KeepKeys(keys.epsilon, keys.delta)

    def kept(entropy: SystemEntropy) -> int:
        return int(draw(np.array([units]), entropy)[0])

    law = enumerate_law(kept, word_bits=4, longest=4)  # type: ignore[arg-type]
    probability = keys.probability(units)
    assert law.allows(1, probability, probability)
    assert not law.allows(1, probability * Fraction(1001, 1000), Fraction(1))
    assert law.undecided <= Fraction(1, 2**16)


def test_a_word_that_ties_is_decided_by_the_next() -> None:
    keys = OptimalKeys(Fraction(1), Fraction(1, 10), max_keys=1)
    entry = keeping_table(keys.epsilon, keys.delta)[2]
    first, second = entry >> 192, entry >> 128 & 2**64 - 1
    draw = KeepKeys(keys.epsilon, keys.delta)
    for word, kept in ((second - 1, 1), (second + 1, 0)):
        assert draw(np.array([2]), ScriptedEntropy([first, word])).tolist() == [kept]
    assert draw(np.array([2, 2]), ScriptedEntropy([first - 1, first + 1])).tolist() == [1, 0]


def test_no_word_keeps_a_key_without_units_or_drops_one_that_is_certain() -> None:
    draw = KeepKeys(Fraction(1), MILLIONTH)
    counts = np.array([0, 0, -3, 10**6, 2**62])
    words = [0, 2**64 - 1, 0, 0, 2**64 - 1]
    assert draw(counts, ScriptedEntropy(words)).tolist() == [0, 0, 0, 1, 1]


def test_keys_of_a_unit_share_epsilon_and_delta() -> None:
    many = OptimalKeys(Fraction(1), MILLIONTH, max_keys=4)
    one = OptimalKeys(Fraction(1, 4), MILLIONTH / 4, max_keys=1)
    assert many.probability(40) == one.probability(40)


def test_a_table_without_end_is_refused() -> None:
    with pytest.raises(InvalidValue, match=str(LONGEST_TABLE)):
        OptimalKeys(Fraction(1, 10**8), Fraction(1, 10**9), max_keys=1)
