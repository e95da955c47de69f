"""Counts and sums: released integers times their step, with the margin of their noise."""

from dataclasses import replace
from fractions import Fraction

import pytest
from ward import CATALOG, asked

from tacit.core.loss import Loss
from tacit.core.release import ReleasedColumn
from tacit.errors import InvalidValue
from tacit.mechanisms.additive_noise import Laplace
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.threshold_keys import LaplaceKeys
from tacit.plan.tally import TotalReading
from tacit.query.intervals import CONFIDENCE, check_sizes, column_of
from tacit.query.pricing import price

F = Fraction
COUNTED = price(asked(), CATALOG, Loss.pure(1))


def column(reading: TotalReading, mechanism: Mechanism, *released: int) -> ReleasedColumn:
    (part,) = COUNTED.tallies
    quote = replace(COUNTED, tallies=(replace(part, mechanism=mechanism),))
    return column_of("n", reading, quote, [list(released)])


def test_a_total_has_the_margin_of_its_noise_on_both_sides() -> None:
    noise = Laplace(F(10))
    assert noise.error(CONFIDENCE) == 30
    found = column(TotalReading(0, F(1, 4)), noise, 100, -8)
    half = F(30, 4)
    ends = ((25 - half, 25 + half), (-2 - half, -2 + half))
    assert found == ReleasedColumn("n", (F(25), F(-2)), ends, F(19, 20))


def test_a_sum_of_floats_adds_the_rounding_of_a_thousand_million_rows() -> None:
    found = column(TotalReading(0, F(2), F(1, 10**9)), Laplace(F(10)), 100)
    assert found.values == (200,)
    assert found.intervals == ((200 - 61, 200 + 61),)


def test_a_count_that_was_selected_has_the_interval_of_its_selection() -> None:
    """Such a group was kept because of its count, so that its noise is rather above 0."""
    keys = LaplaceKeys(F(1), F(1, 10**6), max_keys=1)
    found = column(TotalReading(0, F(1, 4)), keys, 15, 19, 100)
    assert found.values == (F(15, 4), F(19, 4), 25)
    assert found.intervals == (
        (F(1, 4), F(18, 4)),
        (F(16, 4), F(22, 4)),
        (F(97, 4), F(103, 4)),
    )


@pytest.mark.parametrize("sizes", [[1], [10**12], [1] * 10, [5, 10**12]])
def test_sizes_may_be_assumed_up_to_their_limits(sizes: list[int]) -> None:
    check_sizes(sizes)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ([], "must be from 1 to 10; 0 were given"),
        ([1] * 11, "must be from 1 to 10; 11 were given"),
        ([0], "must be from 1 to 1000000000000 rows; 0 was given"),
        ([5, 10**12 + 1], "1000000000000 rows; 1000000000001 was given"),
        ([5, -1], "rows; -1 was given"),
    ],
)
def test_sizes_beyond_their_limits_are_refused(sizes: list[int], said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        check_sizes(sizes)
