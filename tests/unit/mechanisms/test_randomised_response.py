from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core import event as events
from tacit.core.secret import Secret
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.randomised_response import RandomisedResponse, Respond
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.entropy import enumerate_law
from tacit.testing.mechanism_contract import l1, linf

COIN = RandomisedResponse(Fraction(2, 3), choices=2)


def told(mechanism: RandomisedResponse, answers: np.ndarray) -> np.ndarray:
    gateway = LiveGateway(SystemEntropy(b"charge"))
    return mechanism.release(Secret(answers), linf(1), gateway)


def test_the_odds_of_two_thirds_are_exactly_two() -> None:
    event = COIN.event(linf(1))
    assert event == events.RandomisedResponseEventV2(Fraction(2, 3), 2)
    assert event.truth * (event.choices - 1) / (1 - event.truth) == 2


def test_every_script_of_narrow_words_is_told_by_the_law() -> None:
    draw = Respond(Fraction(3, 5), choices=4)
    found = enumerate_law(lambda entropy: int(draw(np.array([2]), entropy)[0]), 3, 6)
    assert found.undecided < Fraction(1, 100)
    for answer in range(4):
        true = Fraction(3, 5) if answer == 2 else Fraction(2, 15)
        assert found.allows(answer, true, true)
        assert not found.allows(answer, true * Fraction("1.1"), true * Fraction("1.1"))


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=30),
    st.fractions(Fraction(3, 10), Fraction(9, 10), max_denominator=100),
)
def test_estimated_counts_add_up_and_are_right_on_average(
    answers: list[int], truth: Fraction
) -> None:
    mechanism = RandomisedResponse(truth, 4)
    found = mechanism.estimate(np.array(answers))
    assert sum(found.counts) == len(answers)
    # the estimates of one true answer of 0, weighted by how likely each is to be told
    lie = (1 - truth) / 3
    first = [mechanism.estimate(np.array([answer])).counts for answer in range(4)]
    mean = [
        sum(
            odds * counts[place]
            for odds, counts in zip([truth, lie, lie, lie], first, strict=True)
        )
        for place in range(4)
    ]
    assert mean == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("reported", "counts", "variances"),
    [
        # a truth varies by 0.24 and a lie by 0.16
        ([4, 4, 2], [5, 5, 0], [5 * 0.24 + 5 * 0.16, 5 * 0.24 + 5 * 0.16, 10 * 0.16]),
        ([6, 3, 1], [10, Fraction(5, 2), -Fraction(5, 2)], [2.4, 1.8, 1.6]),
        # an estimate beyond what is possible varies as the nearest possible count does
        ([10, 0, 0], [20, -5, -5], [10 * 0.24, 10 * 0.16, 10 * 0.16]),
    ],
)
def test_a_standard_error_adds_the_variances_of_truths_and_of_lies(
    reported: list[int], counts: list[Fraction], variances: list[float]
) -> None:
    mechanism = RandomisedResponse(Fraction(3, 5), choices=3)
    found = mechanism.estimate(np.repeat(np.arange(3), reported))
    assert list(found.counts) == counts
    errors = [sqrt(variance) / 0.4 for variance in variances]
    assert found.standard_errors == pytest.approx(errors, rel=1e-12)


@pytest.mark.parametrize("choices", [2, 3, 8])
def test_an_answer_errs_as_claimed(choices: int) -> None:
    truth = Fraction(2, 5) + Fraction(1, 5)
    mechanism = RandomisedResponse(truth, choices)
    for percent in range(100):
        error = mechanism.error(Fraction(percent, 100))
        within = truth + (1 - truth) * error / (choices - 1)
        assert within >= Fraction(percent, 100)
        if error:
            one_less = truth + (1 - truth) * (error - 1) / (choices - 1)
            assert one_less < Fraction(percent, 100)


def test_an_answer_outside_the_choices_makes_no_other_visible() -> None:
    assert set(told(COIN, np.array([-7, 9, 2**62] * 50)).tolist()) == {0, 1}


def test_what_cannot_be_estimated_is_refused() -> None:
    with pytest.raises(InvalidValue, match="cannot be estimated"):
        RandomisedResponse(Fraction(1, 2), 2).estimate(np.array([0, 1]))
    with pytest.raises(InvalidValue, match="below 2"):
        COIN.estimate(np.array([0, 2]))


@pytest.mark.parametrize(
    ("truth", "choices"), [(1, 2), (Fraction(1, 3), 2), (Fraction(1, 2), 1)]
)
def test_what_is_no_response_is_refused(truth: Fraction, choices: int) -> None:
    with pytest.raises(InvalidValue):
        RandomisedResponse(Fraction(truth), choices)


def test_another_norm_and_a_confidence_of_one_are_refused() -> None:
    with pytest.raises(InvalidValue, match="LINF"):
        COIN.event(l1(1))
    with pytest.raises(InvalidValue, match="confidence"):
        COIN.error(Fraction(1))
