from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.event import Composed, ExponentialSelection, PermuteAndFlipSelectionV2, Repeated
from tacit.core.secret import Secret
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.grid_quantiles import GridQuantile, cell_scores, reach_scores, reaches
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.mechanism_contract import l1, l2

HALF = Fraction(1, 2)
COUNTS = st.lists(st.integers(0, 4), min_size=9, max_size=9)
PROBABILITY = st.fractions(Fraction(1, 12), Fraction(11, 12), max_denominator=12)
PLACE = st.integers(0, 8)


def rows(counts: list[int]) -> np.ndarray:
    return np.array([counts], dtype=object)


def with_one_at(counts: list[int], place: int) -> list[int]:
    return [count + (other == place) for other, count in enumerate(counts)]


def drawn(mechanism: GridQuantile, counts: list[int], times: int) -> np.ndarray:
    gateway = LiveGateway(SystemEntropy(b"charge"))
    secret = Secret(np.tile(np.array(counts), times))
    return mechanism.release(secret, l1(1), gateway).reshape(times, 2)


@given(COUNTS, PROBABILITY, PLACE, PLACE, st.integers(1, 5))
def test_a_row_moves_both_scores_by_the_larger_share(
    counts: list[int], probability: Fraction, place: int, cell: int, margin: int
) -> None:
    most = max(probability, 1 - probability) * probability.denominator
    more = with_one_at(counts, place)
    cells = [cell_scores(rows(each), probability) for each in (counts, more)]
    assert abs(cells[0] - cells[1]).max() <= most
    at = np.array([cell])
    around = [reach_scores(rows(each), probability, at, margin) for each in (counts, more)]
    assert abs(around[0] - around[1]).max() <= most


def test_less_than_this_sensitivity_would_be_a_lie() -> None:
    part = Fraction(9, 10)
    moved = cell_scores(rows([20, 0, 0]), part) - cell_scores(rows([20, 0, 1]), part)
    assert abs(moved).max() == 9
    at = np.array([1])
    left, right = (
        reach_scores(rows(each), part, at, 3) for each in ([9, 9, 9, 0, 0], [9, 9, 9, 0, 1])
    )
    assert abs(left - right).max() == 9


@given(COUNTS, PROBABILITY, PLACE, st.integers(1, 50))
def test_some_cell_and_some_reach_are_as_wanted(
    counts: list[int], probability: Fraction, cell: int, margin: int
) -> None:
    assert cell_scores(rows(counts), probability).max() == 0
    assert reach_scores(rows(counts), probability, np.array([cell]), margin).max() == 0


def test_a_unit_of_more_groups_has_more_selections() -> None:
    mechanism = GridQuantile(HALF, Fraction(1, 3), Fraction(1, 4), 9, max_groups=5)
    assert mechanism.event(l1(10)) == Composed(
        (
            Repeated(ExponentialSelection(Fraction(2, 3)), 5),
            Repeated(ExponentialSelection(Fraction(1, 2)), 5),
        )
    )
    flipped = GridQuantile(HALF, Fraction(1, 3), Fraction(1, 4), 9, 5, flips=True)
    assert flipped.event(l1(5)).events[0] == Repeated(
        PermuteAndFlipSelectionV2(Fraction(1, 3)), 5
    )


WORST = {
    "one row among empty cells": [0] * 50 + [1] + [0] * 50,
    "the median alone, all others far": [40] + [0] * 49 + [1] + [0] * 49 + [40],
    "two heaps": [30, *[0] * 99, 30],
    "even": [3] * 101,
    "nothing": [0] * 101,
}


def coverage(mechanism: GridQuantile, counts: list[int]) -> float:
    """How often the interval holds the rank, for the worst cell that could be chosen."""
    below, up_to = np.cumsum(counts) - counts, np.cumsum(counts)
    wanted, found = sum(counts) / 2, []
    for cell in range(len(counts)):
        scores = reach_scores(rows(counts), HALF, np.array([cell]), mechanism.margin)[0]
        weights = [exp(float(mechanism.reach_rate) * max(score, -9999) / 2) for score in scores]
        held = [
            (low == 0 or below[low] <= wanted) and (high == 100 or up_to[high] >= wanted)
            for low, high in (mechanism.interval(cell, place) for place in range(len(weights)))
        ]
        found.append(float(np.dot(weights, held)) / sum(weights))
    return min(found)


@pytest.mark.parametrize("name", WORST)
def test_the_reach_holds_the_quantile_whatever_the_counts(name: str) -> None:
    mechanism = GridQuantile(HALF, Fraction(1, 3), Fraction(1, 3), 101, max_groups=1)
    assert coverage(mechanism, WORST[name]) >= 0.95


def test_a_reach_chosen_with_a_lower_rate_than_it_is_read_by_does_not() -> None:
    class Lie(GridQuantile):
        margin = 5

    mechanism = Lie(HALF, Fraction(1, 3), Fraction(1, 3), 101, max_groups=1)
    assert coverage(mechanism, WORST["the median alone, all others far"]) < 0.95


@pytest.mark.parametrize("flips", [False, True])
def test_groups_keep_their_order_across_blocks(*, flips: bool) -> None:
    cells, groups = 300, 500  # more than one block
    counts = np.zeros((groups, cells), dtype=np.int64)
    counts[np.arange(groups), np.arange(groups) % cells] = 10**6
    mechanism = GridQuantile(HALF, Fraction(1), Fraction(1), cells, 1, flips)
    gateway = LiveGateway(SystemEntropy(b"charge"))
    found = mechanism.release(Secret(counts.ravel()), l1(1), gateway).reshape(groups, 2)
    assert found.tolist() == [[place % cells, 0] for place in range(groups)]


def test_no_groups_have_no_quantiles() -> None:
    gateway = LiveGateway(SystemEntropy(b"charge"))
    none = Secret(np.zeros(0, dtype=np.int64))
    assert GridQuantile(HALF, HALF, HALF, 3, 1).release(none, l1(1), gateway).size == 0


def test_counts_of_any_size_do_not_wrap() -> None:
    huge = [0, 2**62, 2**62, 2**62, 2**62, 0]
    for part, cell in ((Fraction(1, 10), 1), (Fraction(9, 10), 4)):
        mechanism = GridQuantile(part, Fraction(1), Fraction(1), 6, max_groups=1)
        assert set(drawn(mechanism, huge, 20)[:, 0].tolist()) == {cell}


def test_reaches_grow_to_the_whole_grid() -> None:
    for cells in (1, 2, 5, 100, 4096):
        found = reaches(cells)
        assert found[0] == 0
        assert found[-1] == cells - 1
        assert list(found) == sorted(set(found))
    assert len(reaches(4096)) < 25


@pytest.mark.parametrize(
    ("part", "rate", "cells", "groups"),
    [(0, 1, 3, 1), (1, 1, 3, 1), (HALF, 0, 3, 1), (HALF, 1, 0, 1), (HALF, 1, 3, 0)],
)
def test_what_is_no_quantile_is_refused(
    part: Fraction, rate: int, cells: int, groups: int
) -> None:
    with pytest.raises(InvalidValue):
        GridQuantile(Fraction(part), Fraction(rate), Fraction(1), cells, groups)
    with pytest.raises(InvalidValue):
        GridQuantile(Fraction(part), Fraction(1), Fraction(rate - 1), cells, groups)


def test_another_norm_or_part_of_a_group_is_refused() -> None:
    mechanism = GridQuantile(HALF, HALF, HALF, 3, 1)
    with pytest.raises(InvalidValue, match="L1"):
        mechanism.event(l2(1))
    with pytest.raises(InvalidValue, match="A multiple of 3 counts"):
        drawn(mechanism, [1, 2], 1)
