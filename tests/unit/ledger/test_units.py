"""Losses in whole units: costs up, limits down, sums exact, and nothing outside 64 bits."""

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tacit.accounting.pricing import loss_of
from tacit.core.event import Composed, Event, GaussianNoise, LaplaceNoise, Nothing, Repeated
from tacit.core.loss import Loss, Measure
from tacit.errors import InternalError, InvalidValue
from tacit.ledger.charge import (
    AMOUNT_UNITS,
    DELTA_UNITS,
    MOST,
    NO_LIMIT,
    NO_UNITS,
    Units,
    price,
)

LARGEST = Fraction(MOST, AMOUNT_UNITS)
AMOUNTS = st.fractions(0, LARGEST)
DELTAS = st.fractions(0, 1)
LOSSES = st.builds(Loss.zcdp, AMOUNTS, DELTAS)
COUNTS = st.integers(0, MOST)
UNITS = st.builds(Units, COUNTS, COUNTS)
A_UNIT, A_DELTA_UNIT = Fraction(1, AMOUNT_UNITS), Fraction(1, DELTA_UNITS)
LAPLACE = LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(3))


def exactly(units: Units) -> tuple[Fraction, Fraction]:
    return Fraction(units.amount, AMOUNT_UNITS), Fraction(units.delta, DELTA_UNITS)


@given(LOSSES)
@example(Loss.zcdp("1/3", "1/3"))
@example(Loss.zcdp("1e-100", "1e-100"))
def test_a_cost_is_rounded_up_by_less_than_a_unit(loss: Loss) -> None:
    amount, delta = exactly(Units.cost(loss))
    assert loss.amount <= amount < loss.amount + A_UNIT
    assert loss.delta <= delta < loss.delta + A_DELTA_UNIT


@given(LOSSES)
@example(Loss.zcdp("1/3", "1/3"))
def test_a_limit_is_rounded_down_by_less_than_a_unit(loss: Loss) -> None:
    amount, delta = exactly(Units.limit(loss))
    assert loss.amount - A_UNIT < amount <= loss.amount
    assert loss.delta - A_DELTA_UNIT < delta <= loss.delta


@given(LOSSES)
def test_nothing_is_lost_between_units_and_losses(loss: Loss) -> None:
    units = Units.cost(loss)
    again = units.loss(Measure.ZCDP)
    assert Units.cost(again) == Units.limit(again) == units


@given(st.lists(UNITS, max_size=50))
@example([Units(2**53, 2**53), Units(1, 1)])
def test_sums_of_units_are_those_of_fractions(parts: list[Units]) -> None:
    total = sum(parts, NO_UNITS)
    assert exactly(total) == (
        sum(exactly(part)[0] for part in parts),
        sum(exactly(part)[1] for part in parts),
    )
    for part in parts:
        assert total - part + part == total


def test_a_million_charges_of_a_unit_fill_what_they_should() -> None:
    millionth = Units.cost(Loss.pure("1e-6"))
    assert millionth.amount * 10**6 == Units.limit(Loss.pure(1)).amount
    # as floats they would not: they end beside it
    assert sum([1e-6] * 10**6) != 1.0


@given(UNITS, UNITS)
@example(NO_LIMIT, NO_LIMIT)
def test_no_sum_or_difference_of_two_leaves_64_bits(a: Units, b: Units) -> None:
    for made in (a + b, a - b, b - a):
        assert min(made.amount, made.delta) >= -(2**63)
        assert max(made.amount, made.delta) < 2**63


@given(UNITS, UNITS)
def test_units_fit_where_their_losses_do(a: Units, b: Units) -> None:
    assert (a <= b) == (a.loss(Measure.ZCDP) <= b.loss(Measure.ZCDP))
    assert a <= NO_LIMIT


@pytest.mark.parametrize("make", [Units.cost, Units.limit])
@pytest.mark.parametrize(
    "loss",
    [
        Loss.pure(LARGEST + A_UNIT),
        Loss.zcdp(0, Fraction(MOST + 1, DELTA_UNITS)),
        Loss.approximate("1e300", "1e300"),
    ],
)
def test_what_cannot_be_counted_is_refused(make: type[Units], loss: Loss) -> None:
    assert make(Loss.pure(LARGEST)).amount == MOST
    told = "counts amounts up to 4611686 and deltas up to 4"
    with pytest.raises(InvalidValue, match=told):
        make(loss)


@given(st.fractions(Fraction(1, 10**20), 1000), st.sampled_from(Measure))
def test_a_price_is_never_below_the_loss_nor_nothing(scale: Fraction, measure: Measure) -> None:
    noise = LaplaceNoise(sensitivity=Fraction(1, 10**30), scale=scale)
    units = price(noise, measure, Fraction(0))
    assert units.amount > 0
    assert loss_of(noise, measure) <= units.loss(measure)


def test_a_price_counts_in_the_measure_of_its_budget() -> None:
    gauss = GaussianNoise(sensitivity_square=Fraction(1), variance=Fraction(50))
    assert price(LAPLACE, Measure.PURE, Fraction(0)) == Units(333333333334, 0)
    assert price(LAPLACE, Measure.ZCDP, Fraction(0)).amount <= 55555555556
    assert price(gauss, Measure.ZCDP, Fraction(0)) == Units(10**10, 0)
    assert price(gauss, Measure.APPROXIMATE, Fraction(1, 10**6)).delta == 10**12
    with pytest.raises(InvalidValue, match="no pure epsilon"):
        price(gauss, Measure.PURE, Fraction(0))


FREE = LaplaceNoise(sensitivity=Fraction(0), scale=Fraction(3))


@pytest.mark.parametrize("event", [FREE, Composed((Nothing(), FREE)), Repeated(FREE, 5)])
@pytest.mark.parametrize("measure", Measure)
def test_data_for_nothing_is_our_mistake(event: Event, measure: Measure) -> None:
    with pytest.raises(InternalError, match="depends on the data was priced at zero"):
        price(event, measure, Fraction(0))


@pytest.mark.parametrize("event", [Nothing(), Composed((Nothing(),)), Repeated(LAPLACE, 0)])
def test_what_does_not_touch_the_data_is_free(event: Event) -> None:
    assert price(event, Measure.PURE, Fraction(0)) == NO_UNITS
