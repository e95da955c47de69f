"""Intervals of means, variances and deviations, compared with values computed by hand."""

from dataclasses import replace
from fractions import Fraction
from math import sqrt
from statistics import NormalDist

import pytest
from ward import CATALOG, asked

from tacit.core.loss import Loss
from tacit.core.release import Interval
from tacit.mechanisms.additive_noise import Gaussian, Laplace
from tacit.mechanisms.mechanism import Mechanism
from tacit.plan.tally import MeanReading, VarianceReading
from tacit.query.mean_intervals import Ratio, Spread, means, square_range, variances
from tacit.query.pricing import price
from tacit.query.quote import Quote

F = Fraction
SURE = F(19, 20)
COUNTED = price(asked(), CATALOG, Loss.pure(1))
MEAN = MeanReading(total=0, count=1, centre=F(60), step=F(1, 2), low=F(0), high=F(120))
VARIANCE = VarianceReading(
    MEAN,
    squares=2,
    centre=F(50),
    middle=F(120),
    step=F(1, 4),
    rounding=F(0),
    sample=False,
    root=False,
)


def released_by(*each: Mechanism) -> Quote:
    """A quote whose tallies are released by these mechanisms."""
    (part,) = COUNTED.tallies
    return replace(COUNTED, tallies=tuple(replace(part, mechanism=one) for one in each))


# A quotient of two totals ---------------------------------------------------------------------


def test_the_margins_of_gaussian_totals_are_those_of_the_normal_law_and_a_step() -> None:
    ratio = Ratio.of(Gaussian(F(400)), Gaussian(F(9)), SURE)
    sure = NormalDist().inv_cdf(0.975)
    assert float(ratio.top_reach) == pytest.approx(20 * sure + 1)
    assert float(ratio.bottom_reach) == pytest.approx(3 * sure + 1)
    assert ratio.gaussian


@pytest.mark.parametrize(
    ("top", "bottom"),
    [(Laplace(F(10)), Laplace(F(2))), (Laplace(F(10)), Gaussian(F(4)))],
)
def test_other_totals_have_half_of_the_doubt_each(top: Mechanism, bottom: Mechanism) -> None:
    each = F(39, 40)
    assert Ratio.of(top, bottom, SURE) == Ratio(top.error(each), bottom.error(each), False)


@pytest.mark.parametrize(
    ("top", "bottom", "found"),
    [
        (10, 5, (F(7, 7), F(13, 3))),
        (-10, 5, (F(-13, 3), F(-7, 7))),
        (1, 5, (F(-2, 3), F(4, 3))),
        (10, F(5, 2), (F(7) / F(9, 2), F(13))),  # the exact bottom is at least 1
        (10, 2, None),
        (10, 1, None),
    ],
)
def test_a_quotient_has_the_ends_of_its_totals(
    top: int, bottom: int, found: Interval | None
) -> None:
    assert Ratio(F(3), F(2), gaussian=False).interval(top, bottom) == found


@pytest.mark.parametrize("top", [0, 37, -500, 4000, 10**9])
def test_the_rounding_of_floats_makes_no_interval_shorter(top: int) -> None:
    ratio = Ratio(F(40), F(7), gaussian=True)
    ends = ratio.interval(top, 900)
    assert ends is not None
    for end in ends:
        assert (top - end * 900) ** 2 > 40**2 + (end * 7) ** 2


# Means ----------------------------------------------------------------------------------------


def test_a_mean_has_the_centre_plus_the_quotient_of_its_totals() -> None:
    total, count = Laplace(F(10)), Laplace(F(2))
    above, below = total.error(F(39, 40)), count.error(F(39, 40))
    [(value, ends)] = means(MEAN, released_by(total, count), [[-400], [100]], SURE)
    assert value == 60 - F(400, 2) / 100
    assert ends == (
        60 - (400 + above) / 2 / (100 - below),
        60 - (400 - above) / 2 / (100 + below),
    )


def test_a_mean_and_its_interval_stay_within_the_bounds_and_their_rounding() -> None:
    rounded = replace(MEAN, rounding=F(1, 8))
    noise = released_by(Laplace(F(10)), Laplace(F(2)))
    far = [[10**6, -(10**6), 10, 0], [100, 100, 0, -7]]
    found = list(means(rounded, noise, far, SURE))
    assert found[:2] == [(120, (F(959, 8), F(961, 8))), (0, (F(-1, 8), F(1, 8)))]
    assert found[2:] == [(65, (F(-1, 8), F(961, 8))), (60, (F(-1, 8), F(961, 8)))]


# Variances with Gaussian noise ----------------------------------------------------------------


def around(mean: Fraction, square: int, total: int, count: int) -> Fraction:
    """The released mean square of the distances from a mean."""
    sums = total * MEAN.step + count * (MEAN.centre - VARIANCE.centre)
    squares = square * VARIANCE.step + count * VARIANCE.middle
    off = mean - VARIANCE.centre
    return (squares - 2 * off * sums) / count + off**2


def test_the_margins_of_a_variance_are_in_units_of_its_values() -> None:
    noise = released_by(Gaussian(F(400)), Gaussian(F(9)), Gaussian(F(2500)))
    spread = Spread.of(VARIANCE, noise, SURE)
    assert spread is not None
    sure = NormalDist().inv_cdf(0.975)
    assert spread.squares == pytest.approx(50 * sure / 4)
    assert spread.values == pytest.approx(20 * sure / 2)
    assert spread.rows == pytest.approx(3 * sure)
    assert spread.step == 0.25


@pytest.mark.parametrize("place", range(3))
def test_a_variance_with_other_noise_has_no_such_margins(place: int) -> None:
    noises: list[Mechanism] = [Gaussian(F(4))] * 3
    noises[place] = Laplace(F(4))
    assert Spread.of(VARIANCE, released_by(*noises), SURE) is None


@pytest.mark.parametrize("total", [-32_000, -20_000, 0, 6000])
def test_at_a_known_mean_the_ends_are_as_far_as_the_noise_allows(total: int) -> None:
    count, square = 1000, 1_500_000
    mean = MEAN.centre + total * MEAN.step / count
    spread = Spread(squares=F(300), values=F(40), rows=F(9), step=F(1, 4))
    ends = spread.interval(VARIANCE, (square, total, count), (mean, mean))
    assert ends is not None
    middle = float(around(mean, square, total, count))
    assert float(ends[0]) < middle < float(ends[1])
    off = float(mean - VARIANCE.centre)
    top = sqrt(300**2 + (2 * off * 40) ** 2) + 0.25
    for end in map(float, ends):
        # a row that noise adds is counted with its square, its value and itself
        row = float(VARIANCE.middle) - 2 * off * 10 + off**2 - end
        assert abs(middle - end) * count == pytest.approx(sqrt(top**2 + (10 * row) ** 2))


@pytest.mark.parametrize("mean", [(F(58), F(63)), (F(57), F(62)), (F(60), F(60))])
def test_a_mean_that_is_known_less_well_makes_the_variance_greater(mean: Interval) -> None:
    count = 10**8
    spread = Spread(squares=F(0), values=F(0), rows=F(0), step=F(0))
    ends = spread.interval(VARIANCE, (count * 400, 0, count), mean)
    assert ends is not None
    middle = around(F(60), count * 400, 0, count)
    assert middle == 120
    assert float(ends[0]) == pytest.approx(120, abs=1e-3)
    farthest = max((end - 60) ** 2 for end in mean)
    assert float(ends[1]) == pytest.approx(float(120 + farthest), abs=1e-3)


@pytest.mark.parametrize(
    ("mean", "most"), [((F(70), F(80)), 30), ((F(20), F(30)), 30), ((F(40), F(75)), 25)]
)
def test_noise_of_values_counts_most_for_the_mean_that_is_farthest_off(
    mean: Interval, most: int
) -> None:
    count = 10**6
    total = 2 * int(sum(mean) / 2 - 60) * count
    spread, exact = (
        Spread(squares=F(0), values=reach, rows=F(0), step=F(0)) for reach in (F(5000), F(0))
    )
    found = (count * 400, total, count)
    wide, narrow = spread.interval(VARIANCE, found, mean), exact.interval(VARIANCE, found, mean)
    assert wide is not None
    assert narrow is not None
    for one, other in zip(wide, narrow, strict=True):
        assert float(abs(one - other)) == pytest.approx(2 * most * 5000 / count, rel=1e-2)


@pytest.mark.parametrize(
    ("square", "total", "mean", "ends"),
    [
        # a row more adds 150 to 450 to the squares, and the mean square is 100 to 125
        (575, 15, (F(20), F(30)), (450 - 350 / 0.99, 450 - 325 / 1.01)),
        # a row more adds 50 to 150 to the squares, and the mean square is 250 to 350
        (200, 0, (F(5), F(20)), (50 + 200 / 1.01, 50 + 300 / 0.99)),
    ],
)
def test_noise_of_the_count_is_of_all_means_in_the_interval(
    square: int, total: int, mean: Interval, ends: tuple[float, float]
) -> None:
    around_ten = replace(MEAN, centre=F(10), step=F(1))
    reading = replace(VARIANCE, mean=around_ten, centre=F(0), middle=F(150), step=F(1))
    spread = Spread(squares=F(0), values=F(0), rows=F(99), step=F(0))
    count = 10_000
    found = spread.interval(reading, (count * square, count * total, count), mean)
    assert found is not None
    assert [float(end) for end in found] == pytest.approx(ends)


@pytest.mark.parametrize("count", [10, 0, -5])
def test_a_group_that_may_be_empty_has_no_interval_of_a_variance(count: int) -> None:
    spread = Spread(squares=F(1), values=F(1), rows=F(9), step=F(1))
    assert spread.interval(VARIANCE, (1, 1, count), (F(0), F(120))) is None
    assert spread.interval(VARIANCE, (1, 1, 11), (F(0), F(120))) is not None


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (-1, 2, (0, 4)),
        (-3, 2, (0, 9)),
        (1, 2, (1, 4)),
        (-3, -2, (4, 9)),
        (0, 2, (0, 4)),
        (-2, 0, (0, 4)),
        (F(1, 2), F(1, 2), (F(1, 4), F(1, 4))),
    ],
)
def test_the_squares_of_a_range_have_a_least_and_a_greatest(
    low: Fraction, high: Fraction, found: Interval
) -> None:
    assert square_range(F(low), F(high)) == found


# Variances with other noise -------------------------------------------------------------------

LAPLACE = released_by(Laplace(F(10)), Laplace(F(2)), Laplace(F(50)))


def combined(mean: Interval, square: int, count: int, rest: Fraction) -> Interval:
    """The ends of a mean square, less the squares of how far the mean may be off."""
    ratio = Ratio.of(Laplace(F(50)), Laplace(F(2)), rest).interval(square, count)
    assert ratio is not None
    off = [end - VARIANCE.centre for end in mean]
    near = 0 if off[0] <= 0 <= off[1] else min(end**2 for end in off)
    low, high = (end / 4 + VARIANCE.middle for end in ratio)
    return low - max(end**2 for end in off), high - near


@pytest.mark.parametrize("total", [-20_000, -10_000, 0, 4000])
def test_a_variance_has_the_ends_of_its_mean_square_and_of_its_mean(total: int) -> None:
    square, count = 1_200_000, 1000
    released = [[total], [count], [square]]
    [(middle, reach)] = means(MEAN, LAPLACE, released, F(99, 100))
    [(value, ends)] = variances(VARIANCE, LAPLACE, released, SURE)
    assert value == around(middle, square, total, count)
    assert ends == combined(reach, square, count, F(96, 100))
    assert ends[0] < value < ends[1]


def test_the_variance_of_a_sample_divides_by_a_row_less_than_there_may_be() -> None:
    sample = replace(VARIANCE, sample=True, rounding=F(1, 2))
    released = [[0], [100], [120_000]]
    [(middle, reach)] = means(MEAN, LAPLACE, released, F(99, 100))
    [(value, ends)] = variances(sample, LAPLACE, released, SURE)
    assert value == around(middle, 120_000, 0, 100) * F(100, 99)
    low, high = combined(reach, 120_000, 100, F(97, 100))
    fewest = 100 - Laplace(F(2)).error(F(99, 100))
    assert ends == (low - F(1, 2), (high + F(1, 2)) * fewest / (fewest - 1))


@pytest.mark.parametrize(
    ("reading", "most", "one"),
    [(VARIANCE, 3600, 20), (replace(VARIANCE, sample=True), 7200, 40)],
)
def test_a_variance_stays_within_what_the_bounds_allow(
    reading: VarianceReading, most: int, one: int
) -> None:
    released = [[0, 0, 0], [100, 100, 1], [10**8, -(10**8), 0]]
    found = list(variances(reading, LAPLACE, released, SURE))
    assert found[:2] == [(most, (most, most)), (0, (0, 0))]
    assert found[2] == (one, (0, most))


def test_a_deviation_is_the_root_of_its_variance_and_rounded_outwards() -> None:
    released = [[0], [1000], [1_200_000]]
    [(value, (low, high))] = variances(VARIANCE, LAPLACE, released, SURE)
    rooted = replace(VARIANCE, root=True)
    [(root, (below, above))] = variances(rooted, LAPLACE, released, SURE)
    assert below**2 < low < root**2 <= value < high < above**2
    for exact, found in ((value, root), (low, below), (high, above)):
        assert abs(found**2 - exact) < F(1, 10**17)


@pytest.mark.parametrize("power", [-900, -300, 0, 200, 490])
def test_the_interval_of_a_variance_does_not_depend_on_the_units(power: int) -> None:
    unit = F(2) ** power
    mean = MeanReading(0, 1, 60 * unit, unit / 2, F(0), 120 * unit)
    reading = replace(
        VARIANCE,
        mean=mean,
        centre=50 * unit,
        middle=120 * unit**2,
        step=VARIANCE.step * unit**2,
    )
    noise = released_by(*[Gaussian(F(400))] * 3)
    plain, other = (Spread.of(each, noise, SURE) for each in (VARIANCE, reading))
    assert plain is not None
    assert other is not None
    found = (1_500_000, 300, 1000)
    low, high = plain.interval(VARIANCE, found, (F(58), F(63))) or (F(0), F(0))
    ends = other.interval(reading, found, (58 * unit, 63 * unit))
    assert ends == (low * unit**2, high * unit**2)
    assert low < high
