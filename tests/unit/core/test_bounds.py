from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.domain import Bounds, Provenance
from tacit.errors import InvalidValue

BOUNDS = st.tuples(st.fractions(), st.fractions()).map(lambda ends: Bounds(*sorted(ends)))
ROWS = st.lists(st.fractions(), max_size=8)


def total(bounds: Bounds, rows: list[Fraction]) -> Fraction:
    return sum((bounds.clamp(row) for row in rows), start=Fraction(0))


def test_bounds_from_plain_numbers_are_exact() -> None:
    assert Bounds.of(0.1, "1/3") == Bounds(Fraction(1, 10), Fraction(1, 3))
    assert Bounds(Fraction(0.1), Fraction(1, 3)) != Bounds.of(0.1, "1/3")


def test_bounds_say_where_they_come_from() -> None:
    assert Bounds.of(0, 1).provenance is Provenance.PUBLIC
    assert Bounds.of(0, 1, Provenance.POLICY).provenance is Provenance.POLICY
    assert Bounds.of(0, 1) != Bounds.of(0, 1, Provenance.ESTIMATED)


def test_there_is_no_fourth_provenance() -> None:
    assert set(Provenance.__members__) == {"PUBLIC", "POLICY", "ESTIMATED"}


@given(BOUNDS, st.fractions())
def test_a_clamped_value_is_the_nearest_inside(bounds: Bounds, value: Fraction) -> None:
    clamped = bounds.clamp(value)
    assert bounds.lower <= clamped <= bounds.upper
    inside = bounds.lower <= value <= bounds.upper
    assert (clamped == value) == inside
    assert abs(clamped - value) <= min(abs(end - value) for end in (bounds.lower, bounds.upper))


@given(BOUNDS, ROWS, st.fractions())
def test_adding_a_value_moves_a_sum_by_at_most_the_magnitude(
    bounds: Bounds, rows: list[Fraction], row: Fraction
) -> None:
    assert abs(total(bounds, [*rows, row]) - total(bounds, rows)) <= bounds.magnitude


@given(BOUNDS, ROWS, st.fractions(), st.fractions())
def test_replacing_a_value_moves_a_sum_by_at_most_the_width(
    bounds: Bounds, rows: list[Fraction], old: Fraction, new: Fraction
) -> None:
    assert abs(total(bounds, [*rows, new]) - total(bounds, [*rows, old])) <= bounds.width


@given(BOUNDS)
def test_anything_less_is_no_bound_on_a_sum(bounds: Bounds) -> None:
    ends = bounds.lower, bounds.upper
    added = max(abs(total(bounds, [end])) for end in ends)
    replaced = total(bounds, [bounds.upper]) - total(bounds, [bounds.lower])
    assert added > bounds.magnitude - Fraction(1, 10**9)
    assert replaced > bounds.width - Fraction(1, 10**9)


def test_bounds_in_the_wrong_order_are_refused_and_shown() -> None:
    with pytest.raises(InvalidValue, match="lower <= upper, and 3/2 > 1"):
        Bounds.of(1.5, 1)


def test_one_point_is_an_interval() -> None:
    assert Bounds.of(-2, -2).width == 0
    assert Bounds.of(-2, -2).magnitude == 2


def test_bounds_are_frozen() -> None:
    bounds = Bounds.of(0, 1)
    with pytest.raises(FrozenInstanceError):
        bounds.upper = Fraction(10**9)
