"""The price of groups whose keys nobody declared."""

from dataclasses import replace
from fractions import Fraction

import pytest
from clinic import catalog

from tacit.accounting.pricing import loss_of
from tacit.core.catalog import Catalog, Limits
from tacit.core.domain import Column, Keys, Kind, Schema
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms.optimal_keys import OptimalKeys, TruncatedGeometricKeys
from tacit.mechanisms.threshold_keys import GaussianKeys
from tacit.plan.expression import Field
from tacit.plan.plan import (
    Aggregate,
    CountRows,
    CountUnits,
    GroupKey,
    Mean,
    NamedAggregate,
    Plan,
    Post,
    Scan,
    Sum,
)
from tacit.query.pricing import Advice, advice_on, price, variance
from tacit.query.selected_count import survival

LIMITS = Limits(max_groups=3, max_rows=2)
CLINIC = catalog(LIMITS)
LOSSES = [Loss.zcdp("0.1", "1e-6"), Loss.approximate(1, "1e-6")]
AGGREGATES: list[tuple[Aggregate, ...]] = [
    (CountUnits(),),
    (CountRows(),),
    (CountUnits(), CountRows(), Sum(Field("age"))),
    (Mean(Field("age")), CountRows()),
]


def question(*aggregates: Aggregate, keys: tuple[str, ...] = ("doctor",)) -> Plan:
    measures = tuple(NamedAggregate(f"m{place}", part) for place, part in enumerate(aggregates))
    named = tuple(GroupKey(key, Field(key)) for key in keys)
    return Plan(Scan("visits"), named, measures, Post.showing(*keys))


def with_keys_declared(declared: Catalog) -> Catalog:
    visits = declared.dataset("visits")
    doctors = Column("doctor", Kind.TEXT, keys=Keys(("a", "b", "c", "d")))
    columns = tuple(c if c.name != "doctor" else doctors for c in visits.schema.columns)
    return replace(declared, datasets=(replace(visits, schema=Schema(columns)),))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("aggregates", AGGREGATES)
@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("keys", [("doctor",), ("ward",), ("room", "ward"), ()])
def test_a_quote_costs_what_was_asked_and_nearly_all_of_it(
    loss: Loss, aggregates: tuple[Aggregate, ...], neighbours: Neighbours, keys: tuple[str, ...]
) -> None:
    quote = price(question(*aggregates, keys=keys), catalog(LIMITS, neighbours), loss)
    spent = loss_of(quote.event, loss.measure, quote.price_delta)
    assert spent <= loss
    assert spent.amount > loss.amount * Fraction(999, 1000)
    secret = "doctor" in keys or "room" in keys
    assert bool(quote.survival) == secret
    assert not secret or spent.delta == loss.delta


def test_replacing_a_unit_pays_for_the_keys_of_both() -> None:
    for neighbours, counts in ((Neighbours.ADD_REMOVE, 3), (Neighbours.REPLACE_ONE, 6)):
        quote = price(question(CountRows()), catalog(LIMITS, neighbours), LOSSES[0])
        selection = quote.tallies[0].mechanism
        assert isinstance(selection, GaussianKeys)
        assert selection.max_keys == quote.tallies[0].sensitivity.square == counts


def test_the_number_of_units_comes_with_the_selection_for_nothing() -> None:
    for loss, kind in zip(LOSSES, (GaussianKeys, TruncatedGeometricKeys), strict=True):
        quote = price(question(CountUnits()), CLINIC, loss)
        [selection] = quote.tallies
        assert isinstance(selection.mechanism, kind)
        alone = price(question(CountUnits(), CountRows()), CLINIC, loss)
        assert len(alone.tallies) == 2


def test_without_counts_the_law_that_keeps_most_is_taken() -> None:
    single = catalog(Limits(max_groups=1, max_rows=1))
    quote = price(question(CountRows()), single, LOSSES[1])
    assert isinstance(quote.tallies[0].mechanism, OptimalKeys)
    assert quote.survival == survival(quote.tallies[0].mechanism)


@pytest.mark.parametrize("loss", [Loss.pure(1), Loss.zcdp("0.1"), Loss.approximate(1, 0)])
def test_secret_keys_without_a_delta_are_refused_with_two_ways_out(loss: Loss) -> None:
    with pytest.raises(
        InvalidValue,
        match=r"are not public.*such as 1e-10, that fits in the delta.*or declare the keys of "
        r"'visits.doctor' and the keys of 'visits.room'",
    ):
        price(question(CountRows(), keys=("doctor", "room", "ward")), CLINIC, loss)
    assert price(question(CountRows(), keys=("ward",)), CLINIC, loss)


@pytest.mark.parametrize("aggregates", AGGREGATES[1:])
def test_the_advice_is_what_declaring_the_keys_would_give(
    aggregates: tuple[Aggregate, ...],
) -> None:
    loss = LOSSES[0]
    quote = price(question(*aggregates), CLINIC, loss)
    declared = price(question(*aggregates), with_keys_declared(CLINIC), loss)
    [advice] = advice_on(quote)
    now, then = (
        {
            tally: part.mechanism
            for tally, part in zip(each.bound.plan.tallies, each.tallies, strict=True)
        }
        for each in (quote, declared)
    )
    wanted = max(1 - float(variance(then[t]) / variance(now[t])) ** 0.5 for t in then)
    assert abs(float(advice.smaller) - wanted) < 1e-6
    assert advice.change == "declare the keys of 'visits.doctor'"
    percent = f": noise {int(100 * wanted)}% smaller" if CountUnits() not in aggregates else ""
    assert str(advice) == advice.change + percent


def test_where_the_selection_already_counts_there_is_no_less_noise_to_have() -> None:
    [advice] = advice_on(price(question(CountUnits()), CLINIC, LOSSES[0]))
    assert str(advice) == "declare the keys of 'visits.doctor'"


def test_with_public_keys_there_is_nothing_to_declare() -> None:
    assert advice_on(price(question(CountRows(), keys=("ward",)), CLINIC, LOSSES[0])) == ()


def test_a_percentage_is_never_rounded_up() -> None:
    assert str(Advice("x", Fraction(2999, 10000))) == "x: noise 29% smaller"
    assert str(Advice("x", Fraction(1, 1000))) == "x"


def test_a_selection_without_counts_has_no_variance() -> None:
    with pytest.raises(InternalError):
        variance(OptimalKeys(Fraction(1), Fraction(1, 10), 1))
