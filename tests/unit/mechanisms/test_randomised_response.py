from fractions import Fraction

import numpy as np
import pytest
from conftest import Bar
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from tacit.core import selection_event
from tacit.core.secret import Secret
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.randomised_response import RandomisedResponse, Respond
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.enumeration import enumerated
from tacit.testing.mechanism import l1, linf

COIN = RandomisedResponse(Fraction(2, 3), choices=2)
RUNS, PEOPLE = 40_000, 1000


def told(mechanism: RandomisedResponse, answers: np.ndarray) -> np.ndarray:
    gateway = LiveGateway(SystemEntropy(b"charge"))
    return mechanism.release(Secret(answers), linf(1), gateway)


def test_the_odds_of_two_thirds_are_exactly_two() -> None:
    event = COIN.event(linf(1))
    assert event == selection_event.RandomisedResponse(Fraction(2, 3), 2)
    assert event.truth * (event.choices - 1) / (1 - event.truth) == 2


@pytest.mark.claim
def test_the_estimate_is_unbiased_and_as_precise_as_claimed(bar: Bar) -> None:
    truth = np.arange(PEOPLE) < 300
    shares = []
    for _ in range(RUNS // 1000):
        batch = told(COIN, np.tile(truth, 1000).astype(np.int64)).reshape(1000, PEOPLE)
        shares.append(3 * batch.mean(axis=1) - 1)
    found = np.concatenate(shares)
    assert COIN.estimate(batch[0]).counts[1] == 3 * int(batch[0].sum()) - PEOPLE
    bias, spread = abs(found.mean() - 0.3), found.std() / 0.0447
    bar("T16 truth 2/3, 1000 people, bias of the share", bias, "< 0.001", bias < 0.001)
    bar("T16 spread beside 0.0447", spread, "within 2%", abs(spread - 1) < 0.02)
    # what was told, taken as the truth, is far off
    assert abs((found.mean() + 1) / 3 - 0.3) > 0.1


@pytest.mark.parametrize(("truth", "choices"), [(Fraction(2, 3), 2), (Fraction(1, 2), 5)])
def test_answers_are_told_with_the_exact_probabilities(truth: Fraction, choices: int) -> None:
    mechanism, count = RandomisedResponse(truth, choices), 200_000
    found = np.bincount(told(mechanism, np.full(count, 1)), minlength=choices)

    def wanted(true: float) -> np.ndarray:
        law = np.full(choices, (1 - true) / (choices - 1))
        law[1] = true
        return law * count

    assert chisquare(found, wanted(float(truth))).pvalue > 1e-6
    assert chisquare(found, wanted(float(truth) * 0.95)).pvalue < 1e-6


def test_every_script_of_narrow_words_is_told_by_the_law() -> None:
    draw = Respond(Fraction(3, 5), choices=4)
    found = enumerated(lambda entropy: int(draw(np.array([2]), entropy)[0]), 3, 6)
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


def test_the_standard_error_is_that_of_many_runs() -> None:
    mechanism = RandomisedResponse(Fraction(1, 2), 3)
    answers = np.repeat([0, 1, 2], [700, 200, 100])
    runs = [mechanism.estimate(told(mechanism, answers)) for _ in range(3000)]
    measured = np.std([[float(count) for count in run.counts] for run in runs], axis=0)
    claimed = np.mean([run.standard_errors for run in runs], axis=0)
    assert np.all(abs(measured / claimed - 1) < 0.06)


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
    with pytest.raises(InvalidValue, match="say nothing"):
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
