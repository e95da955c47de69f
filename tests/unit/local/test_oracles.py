"""Randomisers of answers: their exact laws on small cases, ratios, estimates and refusals."""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidValue
from tacit.lab.accountants import Memory
from tacit.local.frequency_oracles import (
    Hadamard,
    Hashing,
    KAry,
    Subset,
    Unary,
    best_oracle,
    oracles,
)
from tacit.local.mean_oracles import WORST, OneBit, Piecewise, best_mean
from tacit.local.oracle import (
    MOST,
    STEP,
    Odds,
    Oracle,
    epsilon_of,
    event_of,
    ratio_within,
    shares,
)
from tacit.numeric.binomial_interval import student_quantile
from tacit.numeric.entropy import SystemEntropy
from tacit.numeric.exact_numbers import exp_bounds
from tacit.testing.entropy import enumerate_law

THREE = Fraction(3)
CHOICES = st.integers(2, 40)
RATIOS = st.fractions(Fraction(101, 100), 60, max_denominator=2**16)


def entropy() -> SystemEntropy:
    return SystemEntropy(b"a person's own machine")


def reports_of(oracle: Oracle) -> list[tuple[int, ...]]:
    """Everything that an oracle can report."""
    match oracle:
        case KAry(choices=k):
            return [(answer,) for answer in range(k)]
        case Subset(choices=k, size=size):
            return list(combinations(range(k), size))
        case Unary(choices=k):
            return list(product((0, 1), repeat=k))
        case Hashing():
            return list(product(range(oracle.prime), repeat=oracle.width * 2 + 1))
        case Hadamard():
            return list(product(range(oracle.rows), (0, 1)))
    raise AssertionError


SMALL: list[Oracle] = [
    KAry(2, THREE),
    KAry(4, Fraction(2)),
    Subset(4, 2, THREE),
    Unary.optimal(3, THREE),
    Unary.symmetric(2, THREE),
    Hashing(3, 2, 1, THREE),
    Hadamard(4, THREE),
]


def law(oracle: Oracle, answer: int, ratio: Fraction) -> dict[tuple[int, ...], Fraction]:
    """Reports that speak for the answer are ``ratio`` times as likely as those that do not.

    Only unary encodings have another law: their bits are independent.
    """
    every = reports_of(oracle)
    if isinstance(oracle, Unary):
        odds = [oracle.odds.true if a == answer else oracle.odds.other for a in range(9)]
        chances = [
            [odds[place] if bit else 1 - odds[place] for place, bit in enumerate(report)]
            for report in every
        ]
        weights = [np.prod(np.array(each, dtype=object)) for each in chances]
    else:
        speaks = [oracle.tally(np.array([report]))[answer] for report in every]
        weights = [ratio if each else Fraction(1) for each in speaks]
    total = sum(weights, Fraction(0))
    return {report: weight / total for report, weight in zip(every, weights, strict=True)}


@pytest.mark.parametrize("oracle", SMALL, ids=str)
def test_every_script_of_narrow_words_is_reported_by_the_law(oracle: Oracle) -> None:
    answer = oracle.choices - 1
    numbered = {report: place for place, report in enumerate(reports_of(oracle))}

    def draw(words: object) -> int:
        row = oracle.randomise(np.array([answer]), words)[0]  # type: ignore[arg-type]
        return numbered[tuple(row.tolist())]

    found = enumerate_law(draw, 2, 7)
    assert found.undecided < Fraction(1, 10)
    wanted, lie = law(oracle, answer, oracle.ratio), law(oracle, 0, oracle.ratio)
    assert sum(wanted.values()) == 1
    for report, place in numbered.items():
        assert found.allows(place, wanted[report], wanted[report])
    assert not all(found.allows(numbered[r], lie[r], lie[r]) for r in lie)


@pytest.mark.parametrize("oracle", SMALL, ids=str)
def test_the_ratio_is_reached_and_never_passed(oracle: Oracle) -> None:
    laws = [law(oracle, answer, oracle.ratio) for answer in range(oracle.choices)]
    for left, right in combinations(laws, 2):
        found = [left[report] / right[report] for report in left]
        assert max(found) == oracle.ratio == 1 / min(found)


@pytest.mark.parametrize("oracle", SMALL, ids=str)
def test_reports_speak_with_the_odds_that_the_estimator_assumes(oracle: Oracle) -> None:
    for answer, other in product(range(oracle.choices), repeat=2):
        wanted = law(oracle, answer, oracle.ratio)
        speaks = sum(
            chance * int(oracle.tally(np.array([report]))[other])
            for report, chance in wanted.items()
        )
        assert speaks == (oracle.odds.true if answer == other else oracle.odds.other)


@given(CHOICES, RATIOS)
def test_all_oracles_keep_within_the_ratio_and_the_best_is_chosen(
    choices: int, ratio: Fraction
) -> None:
    made = oracles(choices, ratio)
    assert all(oracle.ratio <= ratio for oracle in made)
    best = best_oracle(choices, ratio)
    assert all(best.odds.variance() <= oracle.odds.variance() for oracle in made)
    short = best_oracle(choices, ratio, most_bits=max(2, (choices - 1).bit_length()))
    assert short.bits <= max(2, (choices - 1).bit_length())


@given(CHOICES, RATIOS, st.data())
def test_a_subset_of_another_size_is_never_better(
    choices: int, ratio: Fraction, data: st.DataObject
) -> None:
    size = data.draw(st.integers(1, choices - 1))
    best = Subset.best(choices, ratio).odds.variance()
    assert best <= Subset(choices, size, ratio).odds.variance()


@given(st.fractions(Fraction(1, 1000), 8))
def test_ratios_are_rounded_toward_more_privacy_and_hardly(epsilon: Fraction) -> None:
    ratio = ratio_within(epsilon)
    assert ratio <= exp_bounds(epsilon)[0] < ratio + 2 * STEP
    if ratio > 1:
        assert epsilon_of(ratio) <= epsilon
        event = event_of(ratio)
        assert event.truth / (1 - event.truth) == ratio


def every_oracle() -> list[Oracle]:
    return [*oracles(5, Fraction(4)), *oracles(2, Fraction(9)), *oracles(9, Fraction(3, 2))]


@pytest.mark.parametrize("oracle", every_oracle(), ids=str)
def test_estimates_come_near_the_truth(oracle: Oracle) -> None:
    answers = np.repeat(np.arange(oracle.choices), 4000)
    reports = oracle.randomise(answers, entropy())
    found = shares(oracle.odds, oracle.tally(reports).tolist(), len(reports))
    true = Fraction(1, oracle.choices)
    error = float(oracle.odds.variance(true) / answers.size) ** 0.5
    for share in found:
        assert abs(float(share.value - true)) < 6 * error
        low, high = share.interval
        assert 0 <= low <= min(max(share.value, Fraction(0)), Fraction(1)) <= high <= 1


def test_means_are_free_of_bias_for_every_number() -> None:
    for ratio, steps in product([Fraction(2), Fraction(20)], [1, 2, 7]):
        for oracle in (OneBit(steps, ratio), Piecewise.best(steps, ratio)):
            for number in range(steps + 1):
                reports = oracle.randomise(np.full(20_000, number), entropy())
                error = float(oracle.variance / 20_000) ** 0.5
                assert abs(float(oracle.mean(reports).value - number)) < 6 * error


@given(st.integers(1, 60), RATIOS)
def test_a_told_number_is_linear_in_the_number(steps: int, ratio: Fraction) -> None:
    oracle = Piecewise.best(steps, ratio)
    for number in (0, steps // 2, steps):
        every = np.arange(steps + oracle.window)
        inside = (every >= number) & (every < number + oracle.window)
        chances = [ratio if near else Fraction(1) for near in inside]
        mean = sum(c * int(t) for c, t in zip(chances, every, strict=True)) / sum(chances)
        assert oracle._number(mean) == number
        assert oracle._spread(number) <= oracle.variance


def test_few_reports_have_a_longer_interval_than_a_normal_one() -> None:
    oracle = Piecewise.best(100, Fraction(20))
    reports = oracle.randomise(np.repeat([0, 50, 100], 10), entropy())
    for count in (2, 30):
        found = oracle.mean(reports[:count])
        low, high = found.interval
        half = 1.96 * float(np.std(reports[:count], ddof=1)) / count**0.5 / float(oracle._slope)
        near = min(max(float(found.value), 0.0), 100.0)
        assert float(low) <= max(near - half, 0.0)
        assert float(high) >= min(near + half, 100.0)
    same = oracle.mean(np.full(30, 50 + oracle.reach))  # without any variance of its own
    assert same.interval[0] < 42
    assert same.interval[1] > 58


def test_the_ends_are_the_means_that_are_barely_not_rejected() -> None:
    oracle, count, spread, value = Piecewise.best(100, Fraction(20)), 40, 900.0, 30.0
    quantile = student_quantile(0.95, count - 1)
    for end in oracle._ends(value, spread, count, Fraction(19, 20)):
        at = Fraction(end)
        two, one, zero = (oracle._spread(number) for number in (2, 1, 0))
        square = (two - 2 * one + zero) / 2
        noise = zero + (one - zero - square) * at + square * at**2
        most = float(at * (100 - at) * (1 + square) + noise)
        own = spread / float(oracle._slope) ** 2
        mixed = (count * own + WORST * most) / (count + WORST)
        assert (value - end) ** 2 == pytest.approx(quantile**2 * mixed / count)


def test_one_bit_is_for_small_ratios_and_pieces_for_large_ones() -> None:
    assert isinstance(best_mean(100, ratio_within("0.6")), OneBit)
    assert isinstance(best_mean(100, ratio_within(2)), Piecewise)


def test_many_waves_tell_what_the_first_one_told() -> None:
    mine = Memory(Subset(6, 2, THREE), entropy())
    told = {tuple(mine.report(np.array([answer]))[0].tolist()) for answer in range(6)}
    assert len(told) == 1
    # the lie: noise drawn again for each wave, which averages away
    fresh = Subset(6, 2, THREE).randomise(np.full(200, 4), entropy())
    assert np.bincount(fresh.ravel()).argmax() == 4


Made = Callable[[], object]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: KAry(1, THREE), "2 to"),
        (lambda: KAry(2, Fraction(1)), "above 1"),
        (lambda: KAry(2, Fraction(MOST + 1)), "above 1"),
        (lambda: ratio_within(0), "epsilon"),
        (lambda: ratio_within(9), "epsilon"),
        (lambda: Subset(4, 4, THREE), "1 to 3"),
        (lambda: Unary(2, Odds(Fraction(1), Fraction(1, 2))), "reveals the answer"),
        (lambda: Hashing(4, 6, 1, THREE), "prime"),
        (lambda: Piecewise(4, -1, THREE), "reach"),
        (lambda: Odds(Fraction(1, 3), Fraction(1, 3)), "higher probability"),
        (lambda: best_oracle(1000, THREE, most_bits=3), "at least 10 bits"),
        (lambda: KAry(2, THREE).randomise(np.array([2]), entropy()), "outside this range"),
        (lambda: KAry(2, THREE).tally(np.array([[-1]])), "outside this range"),
        (lambda: shares(KAry(2, THREE).odds, [0, 0], 0), "at least one report"),
        (lambda: Piecewise(4, 1, THREE).mean(np.array([1])), "two reports"),
    ],
)
def test_what_cannot_be_is_refused(make: Made, told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        make()
