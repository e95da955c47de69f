"""From an aggregate to its tallies, and from these to its answer: shapes, ranges, readings."""

from fractions import Fraction

import pytest
from ward import ROWS, c, field

from tacit.core.domain import Keys, Kind
from tacit.errors import InvalidValue, MissingBound
from tacit.plan.aggregate_tallies import (
    FINEST,
    LARGEST_SQUARED,
    MOST_NODES,
    SECRET_FINEST,
    finest,
    grid,
    mean,
    present,
    read,
    shape,
    tree,
    variance,
)
from tacit.plan.bounded_plan import ColumnKey
from tacit.plan.expression import Arithmetic, Field, Operation
from tacit.plan.plan import (
    CountRows,
    CountUnits,
    CountValues,
    Deviation,
    Greatest,
    Least,
    Mean,
    Quantile,
    Sum,
    Variance,
)
from tacit.plan.steps import (
    ROOM,
    CaseSteps,
    ColumnIsNull,
    ColumnSteps,
    ComputedColumn,
    ComputedSteps,
    ConstantCondition,
    HalvedSteps,
    Negation,
    Ranged,
    StepsAreNull,
    SumSteps,
    WholeSteps,
)
from tacit.plan.tally import (
    ExtremeReading,
    MeanReading,
    QuantileReading,
    RowSumTally,
    RowTally,
    Tally,
    TotalReading,
    TotalTally,
    TreeTally,
    UnitTally,
)
from tacit.plan.type_check import ColumnScope

COST, STAY, HEAT = map(field, ("cost", "stay", "heat"))
STAY_STEPS = ColumnSteps("visits.stay", Kind.INTEGER, ROWS["stay"].grid())
COST_STEPS = ColumnSteps("visits.cost", Kind.DECIMAL, ROWS["cost"].grid())
CENT = Fraction(1, 100)
X = ComputedSteps("x")


def number(low: int, high: int, rounding: Fraction = Fraction(0)) -> Ranged:
    return Ranged(X, low, high, Fraction(1), rounding)


def keys(count: int) -> tuple[ColumnKey, ...]:
    return (ColumnKey("k", "k", Kind.INTEGER, Keys(tuple(range(count)))),)


class Tallies(list[Tally]):
    def place(self, tally: Tally) -> int:
        if tally not in self:
            self.append(tally)
        return self.index(tally)


def test_counts_and_sums_are_one_tally_each_and_shared() -> None:
    tallies: list[Tally] = []
    one = Fraction(1)
    assert read(CountUnits(), ROWS, 5, tallies) == TotalReading(0, one)
    assert read(CountRows(), ROWS, 5, tallies) == TotalReading(1, one)
    assert read(CountValues(STAY), ROWS, 5, tallies) == TotalReading(2, one)
    assert read(Sum(COST), ROWS, 5, tallies) == TotalReading(3, CENT)
    assert read(Sum(STAY), ROWS, 5, tallies) == TotalReading(4, one)
    assert read(CountRows(), ROWS, 5, tallies) == TotalReading(1, one)
    assert tallies == [
        UnitTally(),
        RowTally(ConstantCondition(True), 5),
        RowTally(Negation(ColumnIsNull("visits.stay", Kind.INTEGER)), 5),
        TotalTally(COST_STEPS, -1000 * 5, 100_000 * 5),
        TotalTally(STAY_STEPS, 0, 30 * 5),
    ]


def test_a_sum_of_floats_tells_its_rounding() -> None:
    tallies: list[Tally] = []
    found = read(Sum(HEAT), ROWS, 5, tallies)
    step = ROWS["heat"].grid().step
    assert found == TotalReading(0, step, step / 2)
    assert (tallies[0].low, tallies[0].high) == (0, int(45 / step) * 5)


def test_a_sum_that_grows_beyond_62_bits_is_refused() -> None:
    wide = ColumnScope((ComputedColumn.of("below.x", number(0, 2**61)),))
    assert read(Sum(Field("x")), wide, 1, []) == TotalReading(0, Fraction(1))
    with pytest.raises(InvalidValue, match="62 bits"):
        read(Sum(Field("x")), wide, 2, [])
    with pytest.raises(MissingBound):
        read(Sum(field("free")), ROWS, 2, [])


def test_a_column_is_there_by_itself_and_a_number_by_its_steps() -> None:
    assert present(field("note"), ROWS) == Negation(ColumnIsNull("visits.note", Kind.TEXT))
    more = Arithmetic(Operation.ADD, STAY, c(1))
    assert present(more, ROWS) == Negation(StepsAreNull(SumSteps(STAY_STEPS, WholeSteps(1))))
    held = ColumnScope((ComputedColumn.of("below.x", Ranged(X, 0, 3, Fraction(1))),))
    assert present(Field("x"), held) == Negation(StepsAreNull(X))


def test_a_mean_is_a_centred_sum_and_a_count() -> None:
    tallies: list[Tally] = []
    found = read(Mean(STAY), ROWS, 5, tallies)
    assert found == MeanReading(
        total=0,
        count=1,
        centre=Fraction(15),
        step=Fraction(1),
        low=Fraction(1),
        high=Fraction(30),
    )
    counted = CaseSteps(((Negation(StepsAreNull(STAY_STEPS)), WholeSteps(1)),), WholeSteps(0))
    assert tallies == [
        RowSumTally(SumSteps(STAY_STEPS, WholeSteps(-15)), -14 * 5, 15 * 5),
        RowSumTally(counted, 0, 5),
    ]


def test_the_centre_of_a_mean_is_in_its_own_units() -> None:
    found = read(Mean(COST), ROWS, 5, [])
    assert isinstance(found, MeanReading)
    assert (found.centre, found.low, found.high, found.step) == (495, -10, 1000, CENT)
    assert mean(number(0, 9, Fraction(1, 4)), 1, Tallies().place).rounding == Fraction(1, 4)


@pytest.mark.parametrize("sample", [True, False])
def test_a_variance_and_a_deviation_share_their_tallies(*, sample: bool) -> None:
    tallies: list[Tally] = []
    one = read(Variance(STAY, sample), ROWS, 5, tallies)
    two = read(Deviation(STAY, sample), ROWS, 5, tallies)
    assert len(tallies) == 3
    assert (one.sample, one.root) == (sample, False)  # type: ignore[union-attr]
    assert (two.sample, two.root) == (sample, True)  # type: ignore[union-attr]


def test_a_variance_by_hand() -> None:
    found = Tallies()
    reading = variance(number(10, 20), 2, found.place, sample=True, root=False)
    # from 0 to 10 around 5: squares up to 25, less their middle 12
    assert (reading.centre, reading.middle, reading.step, reading.rounding) == (15, 12, 1, 0)
    assert (found[reading.squares].low, found[reading.squares].high) == (-24, 26)
    assert reading.mean.centre == 15


def test_the_rounding_of_a_square_has_a_term_of_second_order() -> None:
    reading = variance(
        number(0, 10, Fraction(1, 4)), 1, Tallies().place, sample=False, root=False
    )
    # the square of 5 and a quarter, less that of 5
    assert reading.rounding == 2 * 5 * Fraction(1, 4) + Fraction(1, 16)


def test_squares_are_coarse_only_where_they_must_be() -> None:
    fits = 2**32 - 10
    reading = variance(number(0, fits), 1, Tallies().place, sample=False, root=False)
    assert reading.step == 1
    found = Tallies()
    wide = variance(number(0, 2**33), 1, found.place, sample=False, root=False)
    assert wide.step == 16  # halved twice, and then squared
    assert wide.rounding > 0
    assert max(abs(found[wide.squares].low), found[wide.squares].high) < ROOM


@pytest.mark.parametrize(
    ("count", "halvings"),
    [(1, 12), (127, 12), (128, 12), (256, 12), (257, 11), (10_000, 6), (2**19, 1), (2**21, 1)],
)
def test_how_fine_a_grid_is_by_the_groups_of_an_answer(count: int, halvings: int) -> None:
    assert finest(keys(count)) == halvings
    assert (FINEST, SECRET_FINEST, MOST_NODES) == (12, 8, 2**20)


def test_where_groups_are_secret_a_grid_is_coarser() -> None:
    secret = ColumnKey("s", "s", Kind.TEXT, None)
    assert finest((secret,)) == 8
    assert finest((*keys(10_000), secret)) == 6


@pytest.mark.parametrize(
    ("halvings", "wanted"),
    [
        (1, (1, 1)),
        (2, (2, 1)),
        (3, (3, 1)),
        (4, (2, 2)),
        (6, (2, 3)),
        (8, (2, 4)),
        (12, (2, 6)),
    ],
)
def test_the_shape_of_a_tree(halvings: int, wanted: tuple[int, int]) -> None:
    assert shape(halvings) == wanted


def test_a_tree_over_a_short_range_has_a_cell_for_each_step() -> None:
    made, cells = tree(number(-3, 12), 4, 12)
    assert (made.levels, made.branching, made.high, made.quantile) == (2, 4, 4, None)
    assert made.cell == SumSteps(X, WholeSteps(3))
    assert (cells.low, cells.high, cells.steps) == (-3, 12, 1)


@pytest.mark.parametrize(
    ("low", "high", "levels", "branching"),
    [(5, 5, 1, 2), (5, 6, 1, 2), (5, 7, 1, 4), (100, 163, 3, 4), (-163, -100, 3, 4)],
)
def test_a_tree_has_as_many_cells_as_the_width_of_its_range_needs(
    low: int, high: int, levels: int, branching: int
) -> None:
    made, cells = tree(number(low, high), 1, 12)
    assert (made.levels, made.branching, cells.steps) == (levels, branching, 1)


def test_a_tree_over_a_long_range_halves_it() -> None:
    made, cells = tree(number(0, 2**20), 4, 12)
    assert made.cell == HalvedSteps(SumSteps(X, WholeSteps(0)), 9)
    assert (made.cells, cells.steps) == (2**12, 2**9)


def test_a_grid_has_as_many_cells_as_its_range_needs() -> None:
    made, cells = grid(number(-3, 6), 4, 12, Fraction(1, 4))
    assert made == TreeTally(SumSteps(X, WholeSteps(3)), 1, 10, 4, quantile=Fraction(1, 4))
    assert cells.steps == 1
    coarse, wide = grid(number(0, 2**13), 4, 12, Fraction(1, 2))
    assert (coarse.cells, wide.steps) == (2**11 + 1, 4)
    edge, fine = grid(number(0, 2**12 - 1), 4, 12, Fraction(1, 2))
    assert (edge.cells, fine.steps) == (2**12, 1)


def test_quantiles_and_extremes_are_read_off_trees() -> None:
    tallies: list[Tally] = []
    median = read(Quantile(STAY, Fraction(1, 2)), ROWS, 5, tallies, 12)
    least = read(Least(STAY), ROWS, 5, tallies, 12)
    greatest = read(Greatest(STAY), ROWS, 5, tallies, 12)
    assert isinstance(median, QuantileReading)
    assert (median.tree, median.fraction) == (0, Fraction(1, 2))
    assert isinstance(least, ExtremeReading)
    assert isinstance(greatest, ExtremeReading)
    assert (least.tree, least.greatest) == (1, False)
    assert (greatest.tree, greatest.greatest) == (1, True)
    assert len(tallies) == 2
    other = read(Quantile(STAY, Fraction(1, 4)), ROWS, 5, tallies, 12)
    assert other.tree == 2  # type: ignore[union-attr]


def test_a_coarser_grid_where_it_is_asked_for() -> None:
    tallies: list[Tally] = []
    read(Quantile(STAY, Fraction(1, 2)), ROWS, 5, tallies, 3)
    (tally,) = tallies
    assert isinstance(tally, TreeTally)
    assert tally.cells == (29 >> 2) + 1


@pytest.mark.parametrize("bits", [490, 497])
def test_a_variance_of_numbers_whose_squares_are_beyond_floats_is_refused(bits: int) -> None:
    value = Ranged(WholeSteps(0), 0, 4, Fraction(2**bits))
    if value.size <= LARGEST_SQUARED:
        assert variance(value, 1, lambda _: 0, sample=True, root=False).step < 2**1000
        return
    with pytest.raises(InvalidValue, match="beyond the range of floats"):
        variance(value, 1, lambda _: 0, sample=True, root=False)
