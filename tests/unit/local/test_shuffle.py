"""Shuffled reports: the closed form beside sums that are written out."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidValue
from tacit.local.frequency_oracles import KAry, Subset
from tacit.local.oracle import epsilon_of
from tacit.local.shuffle import clones_of, hockey_stick, shuffled_epsilon


def written_out(clones: int, truth: Fraction, bound: Fraction) -> Fraction:
    """The same divergence, outcome by outcome."""
    heads = [Fraction(comb(clones, k), 2**clones) for k in range(clones + 1)] + [Fraction(0)]
    total = Fraction(0)
    for outcome in range(clones + 2):
        none, one = heads[outcome], heads[outcome - 1] if outcome else Fraction(0)
        left = (1 - truth) * none + truth * one
        right = truth * none + (1 - truth) * one
        total += max(Fraction(0), left - bound * right)
    return total


@given(
    st.integers(0, 40),
    st.fractions(Fraction(51, 100), Fraction(99, 100)),
    st.fractions(1, 20),
)
def test_the_closed_form_is_the_sum(clones: int, truth: Fraction, bound: Fraction) -> None:
    found = hockey_stick(clones, float(truth), float(bound))
    assert found == pytest.approx(float(written_out(clones, truth, bound)), abs=1e-12)


def test_one_person_alone_gains_nothing_and_many_gain_much() -> None:
    ratio = Fraction(3)
    own = float(epsilon_of(ratio))
    found = [shuffled_epsilon(ratio, Fraction(1, 2), n, 1e-6) for n in (1, 100, 10_000)]
    assert found[0] == pytest.approx(own, abs=1e-5)
    assert found[0] > found[1] > 5 * found[2]


def test_only_warners_coin_has_more_clones() -> None:
    assert clones_of(KAry(2, Fraction(3))) == Fraction(1, 2)
    assert clones_of(KAry(3, Fraction(3))) == Fraction(1, 3)
    assert clones_of(Subset(4, 2, Fraction(3))) == Fraction(1, 3)


@pytest.mark.parametrize(("people", "delta"), [(0, 1e-6), (10, 0.0), (10, 1.0)])
def test_what_cannot_be_is_refused(people: int, delta: float) -> None:
    with pytest.raises(InvalidValue, match="Shuffling needs"):
        shuffled_epsilon(Fraction(3), Fraction(1, 2), people, delta)
