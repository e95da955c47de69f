from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tacit.errors import InvalidValue
from tacit.numeric.grid import FINE_STEPS, Grid

VALUES = st.fractions(min_value=-1000, max_value=1000, max_denominator=1000)
STEPS = st.fractions(min_value=Fraction(1, 100), max_value=100, max_denominator=100)
ROWS = st.lists(VALUES, max_size=20)
ENDS = st.tuples(VALUES, VALUES).map(sorted)
GRIDS = st.builds(lambda ends, step: Grid(*ends, step=step), ENDS, STEPS)


def total(grid: Grid, rows: list[Fraction]) -> int:
    return sum(grid.index(row) for row in rows)


def adding(grid: Grid) -> int:
    return max(abs(grid.lowest), abs(grid.highest))


def is_power_of_two(value: Fraction) -> bool:
    ends = value.numerator, value.denominator
    return 1 in ends and all(end & (end - 1) == 0 for end in ends)


def fits(value: int, bits: int) -> bool:
    return -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


@given(GRIDS, VALUES)
def test_an_index_is_the_nearest_step_inside_the_interval(grid: Grid, value: Fraction) -> None:
    clamped = min(max(value, grid.lower), grid.upper)
    index = grid.index(value)
    assert abs(grid.value(index) - clamped) <= grid.step / 2
    assert not abs(grid.value(index + 2) - clamped) <= grid.step / 2
    assert grid.lowest <= index <= grid.highest


def test_a_half_goes_up_where_python_would_go_to_even() -> None:
    ones = Grid(Fraction(-10), Fraction(10), step=Fraction(1))
    halves = [Fraction(n, 2) for n in (-5, -3, -1, 1, 3, 5)]
    assert [ones.index(half) for half in halves] == [-2, -1, 0, 1, 2, 3]
    assert [round(half) for half in halves] != [-2, -1, 0, 1, 2, 3]


def test_a_value_outside_lands_on_the_nearest_bound() -> None:
    grid = Grid(Fraction(-1), Fraction(2), step=Fraction(1, 4))
    assert (grid.index(Fraction(-(10**9))), grid.index(Fraction(10**9))) == (-4, 8)
    assert (grid.lowest, grid.highest) == (-4, 8)


def test_an_index_stands_for_its_multiple_of_the_step() -> None:
    assert Grid(Fraction(0), Fraction(1), step=Fraction(1, 8)).value(-3) == Fraction(-3, 8)


@given(ENDS, st.integers(1, 10**6))
def test_a_fine_grid_has_the_widest_power_of_two_that_is_fine_enough(
    ends: list[Fraction], steps: int
) -> None:
    lower, upper = ends
    assume(lower < upper)
    grid = Grid.fine(lower, upper, steps)
    assert is_power_of_two(grid.step)
    assert grid.highest - grid.lowest >= steps
    assert (upper - lower) / (2 * grid.step) < steps


@given(ENDS)
def test_a_float_column_gets_at_least_two_to_the_32_steps(ends: list[Fraction]) -> None:
    lower, upper = ends
    assume(lower < upper)
    grid = Grid.fine(lower, upper)
    assert grid.highest - grid.lowest >= FINE_STEPS == 2**32


def test_a_tenth_is_no_power_of_two() -> None:
    assert is_power_of_two(Fraction(1, 8))
    assert is_power_of_two(Fraction(16))
    assert not is_power_of_two(Fraction(1, 10))
    assert not is_power_of_two(Fraction(3, 8))


def test_a_fine_grid_over_one_point_has_a_step_too() -> None:
    grid = Grid.fine(Fraction(5), Fraction(5))
    assert is_power_of_two(grid.step)
    assert grid.lowest == grid.highest == 5 * 2**32


def test_a_fine_grid_of_one_step_has_its_two_ends() -> None:
    grid = Grid.fine(Fraction(0), Fraction(8), steps=1)
    assert (grid.lowest, grid.highest, grid.step) == (0, 1, 8)


def test_a_fine_grid_needs_a_step() -> None:
    with pytest.raises(InvalidValue, match="at least 1 step, but 0 were given"):
        Grid.fine(Fraction(0), Fraction(1), steps=0)


@pytest.mark.parametrize("step", [Fraction(0), Fraction(-1, 2)])
def test_a_step_is_above_zero(step: Fraction) -> None:
    with pytest.raises(InvalidValue, match=f"a step above 0, but {step} was given"):
        Grid(Fraction(0), Fraction(1), step)


def test_a_grid_has_its_bounds_in_order() -> None:
    with pytest.raises(InvalidValue, match="lower=2 and upper=1 were given"):
        Grid(Fraction(2), Fraction(1), Fraction(1))
    with pytest.raises(InvalidValue, match="lower=2 and upper=1 were given"):
        Grid.fine(Fraction(2), Fraction(1))


def test_a_grid_is_frozen() -> None:
    grid = Grid(Fraction(0), Fraction(1), Fraction(1))
    with pytest.raises(FrozenInstanceError):
        grid.step = Fraction(2)


@given(GRIDS, ROWS, VALUES)
def test_one_more_row_moves_a_sum_by_at_most_the_greatest_index(
    grid: Grid, rows: list[Fraction], row: Fraction
) -> None:
    assert abs(total(grid, [*rows, row]) - total(grid, rows)) <= adding(grid)


@given(GRIDS, ROWS)
def test_one_index_less_is_no_sensitivity_for_adding(grid: Grid, rows: list[Fraction]) -> None:
    assume(adding(grid) > 0)
    extremes = [grid.lower, grid.upper]
    moves = [abs(total(grid, [*rows, row]) - total(grid, rows)) for row in extremes]
    assert max(moves) > adding(grid) - 1


@given(GRIDS, ROWS, VALUES, VALUES)
def test_another_row_moves_a_sum_by_at_most_the_span(
    grid: Grid, rows: list[Fraction], old: Fraction, new: Fraction
) -> None:
    moved = abs(total(grid, [*rows, old]) - total(grid, [*rows, new]))
    assert moved <= grid.highest - grid.lowest


@given(GRIDS, ROWS)
def test_one_step_less_is_no_sensitivity_for_replacing(
    grid: Grid, rows: list[Fraction]
) -> None:
    moved = total(grid, [*rows, grid.upper]) - total(grid, [*rows, grid.lower])
    assert moved > grid.highest - grid.lowest - 1


def test_the_idealised_width_is_no_sensitivity_of_a_rounded_sum() -> None:
    grid = Grid(Fraction("0.4"), Fraction("0.6"), step=Fraction(1))
    assert grid.highest - grid.lowest == 1 > grid.upper - grid.lower


@given(GRIDS, ROWS)
def test_rounding_moves_a_sum_by_at_most_the_rounding_error(
    grid: Grid, rows: list[Fraction]
) -> None:
    clamped = sum(min(max(row, grid.lower), grid.upper) for row in rows)
    assert abs(clamped - grid.value(total(grid, rows))) <= grid.rounding_error(len(rows))


@pytest.mark.parametrize("rows", [1, 7])
def test_halves_reach_the_rounding_error_so_a_smaller_one_is_wrong(rows: int) -> None:
    grid = Grid(Fraction(0), Fraction(10), step=Fraction(1))
    moved = grid.value(total(grid, [Fraction(5, 2)] * rows)) - rows * Fraction(5, 2)
    assert moved == grid.rounding_error(rows)
    assert moved > grid.rounding_error(rows) * Fraction(99, 100)


@given(GRIDS, st.integers(0, 10**15))
def test_sum_bits_hold_the_extreme_sums(grid: Grid, rows: int) -> None:
    bits = grid.sum_bits(rows)
    assert fits(rows * grid.lowest, bits)
    assert fits(rows * grid.highest, bits)


@given(GRIDS, st.integers(1, 10**15))
def test_one_bit_less_overflows(grid: Grid, rows: int) -> None:
    assume(0 < grid.highest >= -grid.lowest)
    assert not fits(rows * grid.highest, grid.sum_bits(rows) - 1)
