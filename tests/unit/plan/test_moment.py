from fractions import Fraction

import pytest

from tacit.core.domain import Kind
from tacit.errors import InvalidValue
from tacit.numeric.grid import Grid
from tacit.plan.aggregate_tallies import mean, variance
from tacit.plan.steps import ROOM, ColumnSteps, Ranged
from tacit.plan.tally import RowSumTally, Tally


def number(low: int, high: int) -> Ranged:
    grid = Grid(Fraction(low), Fraction(high), Fraction(1))
    return Ranged(ColumnSteps("x", Kind.INTEGER, grid), low, high, Fraction(1))


class Tallies(list[Tally]):
    def place(self, tally: Tally) -> int:
        if tally not in self:
            self.append(tally)
        return self.index(tally)


def test_a_mean_and_a_variance_share_their_sum_and_count() -> None:
    found = Tallies()
    first = mean(number(0, 100), 2, found.place)
    second = variance(number(0, 100), 2, found.place, sample=True, root=False)
    assert second.mean == first
    assert len(found) == 3


def test_centring_halves_what_a_unit_moves() -> None:
    found = Tallies()
    reading = variance(number(0, 100), 3, found.place, sample=False, root=False)
    total, squares = found[reading.mean.total], found[reading.squares]
    assert (total.low, total.high) == (-150, 150)
    assert (squares.low, squares.high) == (-3 * 1250, 3 * 1250)


@pytest.mark.parametrize("size", [10, 2**20, 2**31, 2**33, 2**50])
@pytest.mark.parametrize("max_rows", [1, 7, 1000])
def test_squares_fit_62_bits_on_a_grid_that_is_coarse_enough(size: int, max_rows: int) -> None:
    found = Tallies()
    reading = variance(number(-5, size), max_rows, found.place, sample=False, root=False)
    squares = found[reading.squares]
    assert isinstance(squares, RowSumTally)
    assert max(-squares.low, squares.high) < ROOM
    # what rounding moves a square by is next to nothing beside the whole
    assert reading.rounding <= Fraction(size**2, 2**20)
    if size <= 2**20:
        assert reading.rounding == 0


def test_what_is_too_wide_is_refused() -> None:
    with pytest.raises(InvalidValue, match="62 bits"):
        variance(number(-(2**61), 2**61), 1, Tallies().place, sample=False, root=False)
