from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from tacit.core.event import ExponentialSelection
from tacit.core.privacy_unit import Neighbours
from tacit.core.secret import Secret
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import LiveGateway
from tacit.noise.inversion import thresholds
from tacit.numeric.entropy import SystemEntropy
from tacit.robust.quantiles import RankQuantile, rank_scores
from tacit.testing.mechanism_contract import l1, linf

STEPS = 100
"""Grid points a unit: the interval from 0 to 1000 in steps of 0.01."""
POINTS = 1000 * STEPS + 1
MEDIAN = RankQuantile(Fraction(1, 2), rate=Fraction(1), points=POINTS)
COUNTS = st.lists(st.integers(0, 4), min_size=5, max_size=5)
PROBABILITY = st.fractions(Fraction(1, 12), Fraction(11, 12), max_denominator=12)
PLACE = st.integers(0, 4)


def pmf(rate: float, counts: np.ndarray, probability: float) -> np.ndarray:
    up_to = np.cumsum(counts)
    wanted = probability * up_to[-1]
    distances = np.maximum(np.maximum(up_to - counts - wanted, wanted - up_to), 0)
    weights = np.exp(-rate * (distances - distances.min()))
    return weights / weights.sum()


def draws(mechanism: RankQuantile, counts: np.ndarray, count: int) -> np.ndarray:
    gateway, secret = LiveGateway(SystemEntropy(b"charge")), Secret(counts)
    return np.array([mechanism.release(secret, l1(1), gateway)[0] for _ in range(count)])


def moved_by(counts: list[int], changed: list[int], probability: Fraction) -> Fraction:
    left = rank_scores(np.array(counts), probability)
    right = rank_scores(np.array(changed), probability)
    return Fraction(int(abs(left - right).max()), probability.denominator)


def with_one_at(counts: list[int], place: int) -> list[int]:
    return [count + (other == place) for other, count in enumerate(counts)]


@given(COUNTS, PROBABILITY, PLACE)
def test_a_row_moves_the_ranks_by_the_larger_share(
    counts: list[int], probability: Fraction, place: int
) -> None:
    most = RankQuantile(probability, Fraction(1), 5).event(l1(1)).epsilon / 2
    assert most == max(probability, 1 - probability)
    assert moved_by(counts, with_one_at(counts, place), probability) <= most


@given(COUNTS, PROBABILITY, PLACE, PLACE)
def test_a_row_replaced_moves_the_ranks_by_one(
    counts: list[int], probability: Fraction, left: int, right: int
) -> None:
    mechanism = RankQuantile(probability, Fraction(1), 5, Neighbours.REPLACE_ONE)
    assert mechanism.event(l1(2)) == ExponentialSelection(Fraction(2))
    assert moved_by(with_one_at(counts, left), with_one_at(counts, right), probability) <= 1


@given(COUNTS, PROBABILITY, st.lists(PLACE, max_size=3), st.lists(PLACE, max_size=3))
def test_three_rows_that_leave_and_three_that_come_move_the_ranks_by_three(
    counts: list[int], probability: Fraction, leave: list[int], come: list[int]
) -> None:
    before = after = counts
    for place in leave:
        before = with_one_at(before, place)
    for place in come:
        after = with_one_at(after, place)
    mechanism = RankQuantile(probability, Fraction(1), 5, Neighbours.REPLACE_ONE)
    assert moved_by(before, after, probability) <= mechanism.event(l1(6)).epsilon / 2


def test_less_than_these_sensitivities_would_be_a_lie() -> None:
    top_tenth = Fraction(9, 10)
    assert moved_by([20, 0, 0], [20, 0, 1], top_tenth) == top_tenth
    assert moved_by([21, 0, 0], [20, 0, 1], top_tenth) == 1
    assert RankQuantile(top_tenth, Fraction(1), 3).event(l1(1)).epsilon == 2 * top_tenth


def test_the_wanted_rank_lies_in_the_ranks_of_a_point() -> None:
    for counts in ([0, 0, 0], [3, 0, 0], [1, 0, 1], [0, 5, 5]):
        assert max(rank_scores(np.array(counts), Fraction(1, 3))) == 0
    assert rank_scores(np.array([0, 4, 0]), Fraction(1, 4)).tolist() == [-4, 0, -12]


def test_frequencies_are_the_exact_probabilities() -> None:
    counts, count = np.array([1, 0, 3, 2, 0, 4]), 20_000
    drawn = draws(RankQuantile(Fraction(1, 4), Fraction(1, 2), points=6), counts, count)
    found = np.bincount(drawn, minlength=6)
    assert chisquare(found, pmf(0.5, counts, 0.25) * count).pvalue > 1e-6
    assert chisquare(found, pmf(0.5 * 1.2, counts, 0.25) * count).pvalue < 1e-6
    assert chisquare(found, pmf(0.5, counts, 0.3) * count).pvalue < 1e-6


def samples(how_many: int) -> list[np.ndarray]:
    normal = np.random.default_rng(7).normal(50, 10, (how_many, 1000))
    return list(np.round(normal * STEPS).astype(np.int64))


def test_the_median_of_a_thousand_is_near_that_of_the_sample() -> None:
    assert MEDIAN.event(l1(1)) == ExponentialSelection(Fraction(1))
    places, squares = np.arange(POINTS), {1.0: 0.0, 0.5: 0.0}
    for values in samples(100):
        counts = np.bincount(values, minlength=POINTS)
        for rate in squares:
            away = (places - np.median(values)) / STEPS
            squares[rate] += float(pmf(rate, counts, 0.5) @ away**2) / 100
    assert squares[1.0] ** 0.5 <= 0.06
    assert squares[0.5] ** 0.5 > 0.06  # half the epsilon does not reach it


@pytest.mark.claim
def test_medians_on_a_grid_of_a_hundred_thousand_points_follow_the_law() -> None:
    found: dict[float, list[float]] = {1.0: [], 0.2: []}
    for values in samples(60):
        counts = np.bincount(values, minlength=POINTS)
        drawn = int(draws(MEDIAN, counts, 1)[0])
        for rate, ranks in found.items():
            law = pmf(rate, counts, 0.5)
            ranks.append(float(law[:drawn].sum() + law[drawn] / 2))
    outward = {rate: 2 * abs(np.array(ranks) - 0.5) for rate, ranks in found.items()}
    assert kstest(outward[1.0], "uniform").pvalue > 1e-6
    assert kstest(outward[0.2], "uniform").pvalue < 1e-6


def test_the_rank_is_within_its_bound_and_not_half_of_it() -> None:
    mechanism, counts = RankQuantile(Fraction(1, 2), Fraction(1), points=1001), np.zeros(1001)
    bound = mechanism.error(Fraction("0.95"))
    counts[0] = 2 * int(bound) + 2
    assert pmf(1, counts, 0.5)[0] >= 0.95
    counts[0] = int(bound)
    assert pmf(1, counts, 0.5)[0] < 0.95


def test_counts_of_any_size_do_not_wrap() -> None:
    huge = np.array([0, 2**62, 2**62, 2**62, 2**62, 0])
    assert set(draws(RankQuantile(Fraction(1, 10), Fraction(1), 6), huge, 20).tolist()) == {1}
    assert set(draws(RankQuantile(Fraction(9, 10), Fraction(1), 6), huge, 20).tolist()) == {4}


def test_nothing_of_the_counts_is_kept() -> None:
    mechanism = RankQuantile(Fraction(1, 2), Fraction(1, 3), points=2)
    draws(mechanism, np.array([0, 1]), 1)
    kept = thresholds.cache_info().currsize
    for count in range(50):
        draws(mechanism, np.array([3, count]), 1)
    assert thresholds.cache_info().currsize == kept


@pytest.mark.parametrize(
    ("percent", "rate", "points"), [(100, 1, 3), (0, 1, 3), (-1, 1, 3), (50, 0, 3), (50, 1, 0)]
)
def test_what_is_no_quantile_is_refused(percent: int, rate: int, points: int) -> None:
    with pytest.raises(InvalidValue):
        RankQuantile(Fraction(percent, 100), Fraction(rate), points)


def test_another_norm_or_number_of_points_is_refused() -> None:
    with pytest.raises(InvalidValue, match="L1"):
        MEDIAN.event(linf(1))
    with pytest.raises(InvalidValue, match="batch of 100001 values"):
        draws(MEDIAN, np.array([0, 1]), 1)
