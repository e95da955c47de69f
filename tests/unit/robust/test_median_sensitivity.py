from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidValue
from tacit.robust.trimmed_mean import (
    local_sensitivities,
    median,
    smooth_median,
    smooth_sensitivity,
)

SIZE, TOP = 5, 3
Data = tuple[int, ...]
ALL = list(combinations_with_replacement(range(TOP + 1), SIZE))


def replaced(data: Data) -> Iterator[Data]:
    for place in range(SIZE):
        for value in range(TOP + 1):
            yield tuple(sorted((*data[:place], value, *data[place + 1 :])))


@cache
def local(data: Data) -> int:
    here = data[(SIZE - 1) // 2]
    return max(abs(here - other[(SIZE - 1) // 2]) for other in replaced(data))


@cache
def distances(data: Data) -> dict[Data, int]:
    """How many replacements lead to each dataset, by breadth-first search."""
    found, frontier = {data: 0}, [data]
    while frontier:
        reached = {other: found[one] + 1 for one in frontier for other in replaced(one)}
        frontier = [one for one in reached if one not in found]
        found |= {one: reached[one] for one in frontier}
    return found


def brute_force(data: Data) -> tuple[int, ...]:
    away = distances(data)
    return tuple(
        max(local(other) for other in ALL if away[other] <= moved) for moved in range(SIZE + 1)
    )


def test_local_sensitivities_are_those_of_brute_force_on_all_multisets() -> None:
    assert len(ALL) == 56
    assert all(local_sensitivities(np.array(data), 0, TOP) == brute_force(data) for data in ALL)


@pytest.mark.parametrize("smoothing", [Fraction(1, 10), Fraction(1, 2), Fraction(1)])
def test_the_smooth_sensitivity_is_that_of_brute_force_on_all_multisets(
    smoothing: Fraction,
) -> None:
    for data in ALL:
        least, most = smooth_sensitivity(np.array(data), 0, TOP, smoothing)
        true = max(local(x) * exp(-smoothing * d) for x, d in distances(data).items())
        assert least <= most <= least * (1 + Fraction(1, 10**45))
        assert abs(float(least) - true) < 1e-12


def test_one_gap_too_few_is_caught() -> None:
    def lie(data: Data) -> tuple[int, ...]:  # what the median crosses now, without the next
        return (0, *brute_force(data)[:-1])

    assert any(local_sensitivities(np.array(data), 0, TOP) != lie(data) for data in ALL)


values = st.lists(st.integers(0, 3000), min_size=1, max_size=9)


@given(values, st.integers(0, 8), st.integers(0, 3000), st.sampled_from(["0.05", "0.3", "1"]))
def test_rounded_pairs_stay_smooth(
    data: list[int], place: int, value: int, smoothing: str
) -> None:
    beta = Fraction(smoothing)
    other = list(data)
    other[place % len(data)] = value
    left, sense = smooth_median(np.array(data), 0, 3000, beta).tolist()
    right, other_sense = smooth_median(np.array(other), 0, 3000, beta).tolist()
    assert abs(left - right) <= min(sense, other_sense)
    assert abs(log(sense / other_sense)) <= beta


def test_rounding_up_without_a_floor_breaks_smoothness() -> None:
    data, other, beta = np.array([0, 0, 0, 0, 0]), np.array([0, 0, 0, 0, 10]), Fraction(1, 2)
    ceilings = [smooth_sensitivity(each, 0, 10, beta)[1].__ceil__() for each in (data, other)]
    assert ceilings == [4, 7]
    assert log(7 / 4) > beta
    rounded = [int(smooth_median(each, 0, 10, beta)[1]) for each in (data, other)]
    assert abs(log(rounded[1] / rounded[0])) <= beta


def test_values_outside_the_bounds_count_as_the_bounds() -> None:
    beta = Fraction(1, 2)
    outside = smooth_median(np.array([-5, -7, 40]), 0, 10, beta).tolist()
    assert outside == smooth_median(np.array([0, 0, 10]), 0, 10, beta).tolist()


def test_the_median_of_an_even_number_is_the_lower() -> None:
    assert median(np.array([4, 1, 3, 2])) == 2


def test_nothing_has_no_median_and_no_smoothing_is_refused() -> None:
    with pytest.raises(InvalidValue, match="at least one value"):
        local_sensitivities(np.array([], dtype=np.int64), 0, 1)
    with pytest.raises(InvalidValue, match="smoothing must be above 0"):
        smooth_sensitivity(np.array([1]), 0, 1, Fraction(0))
