"""The smooth sensitivity of a trimmed sum, against every path of replacements."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.domain import Bounds
from tacit.core.loss import Loss
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.robust.trimmed_mean import MiddleSum, TrimmedMean

SIZE, TOP = 5, 3
Data = tuple[int, ...]
ALL = list(combinations_with_replacement(range(TOP + 1), SIZE))
ONE_OFF = MiddleSum.without_tails(SIZE, 1, 0, TOP)


def replaced(data: Data) -> Iterator[Data]:
    for place in range(SIZE):
        for value in range(TOP + 1):
            yield tuple(sorted((*data[:place], value, *data[place + 1 :])))


@cache
def local(data: Data) -> int:
    here = ONE_OFF(np.array(data))
    return max(abs(here - ONE_OFF(np.array(other))) for other in replaced(data))


def distances(data: Data) -> dict[Data, int]:
    found, frontier = {data: 0}, [data]
    while frontier:
        reached = {other: found[one] + 1 for one in frontier for other in replaced(one)}
        frontier = [one for one in reached if one not in found]
        found |= {one: reached[one] for one in frontier}
    return found


@pytest.mark.parametrize("smoothing", [Fraction(1, 10), Fraction(1, 2), Fraction(1)])
def test_a_smooth_sensitivity_is_that_of_brute_force(smoothing: Fraction) -> None:
    for data in ALL:
        _, most = ONE_OFF.smooth_sensitivity(np.array(data), smoothing)
        true = max(local(x) * exp(-smoothing * d) for x, d in distances(data).items())
        assert abs(float(most) - true) < 1e-12


def test_that_of_the_median_is_too_small_for_a_trimmed_sum() -> None:
    median = MiddleSum.median(SIZE, 0, TOP)
    assert any(median.local_sensitivities(np.array(data))[0] < local(data) for data in ALL)


values = st.lists(st.integers(0, 3000), min_size=1, max_size=12)


@given(values, st.integers(0, 11), st.integers(0, 3000), st.integers(0, 3))
def test_rounded_pairs_stay_smooth(data: list[int], place: int, value: int, cut: int) -> None:
    beta, other = Fraction("0.3"), list(data)
    other[place % len(data)] = value
    kept = MiddleSum.without_tails(len(data), min(cut, (len(data) - 1) // 2), 0, 3000)
    left, sense = kept.smooth_pair(np.array(data), beta).tolist()
    right, other_sense = kept.smooth_pair(np.array(other), beta).tolist()
    assert abs(left - right) <= min(sense, other_sense)
    assert abs(log(sense / other_sense)) <= beta


def test_a_trimmed_mean_leaves_out_what_is_far() -> None:
    gateway = LiveGateway(SystemEntropy(b"trimmed"))
    data = [*range(40, 61), 1e9, 1e9, 1e9]
    mean = TrimmedMean(Bounds.of(0, 100), Fraction(1, 6), Loss.pure(50))
    assert abs(mean.release(data, gateway).value - 51.5) < 3


def test_what_keeps_nothing_is_refused() -> None:
    with pytest.raises(InvalidValue, match="at least one value"):
        MiddleSum.without_tails(4, 2, 0, 1)
    with pytest.raises(InvalidValue, match="between 0 and 1/2"):
        TrimmedMean(Bounds.of(0, 1), Fraction(2, 3), Loss.pure(1))
