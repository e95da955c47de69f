from fractions import Fraction

import pytest
from hypothesis import given

from tacit.accounting.pricing import cost_of, delta_at, leaves, loss_of
from tacit.core.codec import EVENTS
from tacit.core.event import Composed, Event, Nothing, Repeated
from tacit.core.loss import Loss, Measure
from tacit.errors import InvalidValue
from tacit.lab.accountants import renyi_of
from tacit.testing.mechanism_contract import LEAVES, SECOND_VERSIONS, UNPRICED, histories

MEASURES = [Measure.APPROXIMATE, Measure.ZCDP]
DELTA = Fraction(1, 10**9)
ALL = (*LEAVES, *SECOND_VERSIONS)


def listed(event: Event) -> Event:
    """The same history with every repetition written out."""
    return Composed(tuple(leaf for leaf, times in leaves(event) for _ in range(times)))


def test_every_kind_of_leaf_has_an_example() -> None:
    combined = {"nothing", "composed", "repeated"}
    known = {type(leaf) for leaf in (*ALL, *UNPRICED)}
    assert {event for name, event in EVENTS.items() if name not in combined} == known


@pytest.mark.parametrize("leaf", ALL, ids=lambda leaf: type(leaf).__name__)
@pytest.mark.parametrize("measure", MEASURES)
def test_repeated_is_listed_one_by_one(leaf: Event, measure: Measure) -> None:
    twenty = loss_of(Repeated(leaf, 20), measure, DELTA)
    assert twenty == loss_of(Composed((leaf,) * 20), measure, DELTA)
    assert twenty == loss_of(leaf, measure, DELTA) * 20
    # the lie: a count that is dropped
    assert twenty != loss_of(leaf, measure, DELTA)


@given(histories())
def test_any_history_costs_what_its_list_costs(event: Event) -> None:
    for measure in MEASURES:
        assert loss_of(event, measure, DELTA) == loss_of(listed(event), measure, DELTA)
    assert delta_at(event, Fraction(1)) == delta_at(listed(event), Fraction(1))


@given(histories(), histories())
def test_losses_add_up(one: Event, other: Event) -> None:
    both = Composed((one, other))
    for measure in MEASURES:
        parts = loss_of(one, measure, DELTA) + loss_of(other, measure, DELTA)
        assert loss_of(both, measure, DELTA) == parts


def test_nothing_costs_nothing() -> None:
    assert loss_of(Nothing(), Measure.PURE) == Loss.pure(0)
    assert loss_of(Repeated(LEAVES[0], 0), Measure.PURE) == Loss.pure(0)
    assert delta_at(Nothing(), Fraction(0)) == 0


def test_what_has_no_pure_loss_is_refused() -> None:
    for leaf in ALL:
        cost = cost_of(leaf)
        if cost.epsilon is None or cost.delta:
            with pytest.raises(InvalidValue, match="no pure epsilon"):
                loss_of(leaf, Measure.PURE)
        else:
            assert loss_of(leaf, Measure.PURE).amount == cost.epsilon


def test_an_event_with_a_curve_alone_is_priced_at_a_delta() -> None:
    smooth = UNPRICED[0]
    priced = loss_of(smooth, Measure.APPROXIMATE, Fraction(1, 10**6))
    assert 0 < priced.amount < 2
    assert delta_at(smooth, priced.amount) <= Fraction(1, 10**6)
    assert delta_at(smooth, priced.amount * Fraction(9, 10)) > Fraction(1, 10**6)
    for measure, delta in ((Measure.ZCDP, DELTA), (Measure.APPROXIMATE, Fraction(0))):
        with pytest.raises(
            InvalidValue, match="SmoothLaplaceNoise can be charged only in epsilon"
        ):
            loss_of(smooth, measure, delta)


def test_an_event_without_a_rule_is_refused() -> None:
    with pytest.raises(InvalidValue, match="no rule for the privacy loss of Event"):
        loss_of(Event(), Measure.ZCDP)


@pytest.mark.parametrize("order", [Fraction(3, 2), Fraction(2), Fraction(32)])
def test_renyi_losses_stay_below_both_of_their_bounds(order: Fraction) -> None:
    for leaf in ALL:
        cost = cost_of(leaf)
        if cost.delta:
            with pytest.raises(InvalidValue, match="has a delta"):
                renyi_of(leaf, order)
            continue
        found = renyi_of(leaf, order)
        assert 0 < found <= order * cost.rho
        assert cost.epsilon is None or found <= cost.epsilon or order * cost.rho > found
        assert renyi_of(Repeated(leaf, 3), order) == 3 * found


def test_a_renyi_order_is_above_one() -> None:
    with pytest.raises(InvalidValue, match="above 1"):
        renyi_of(LEAVES[0], Fraction(1))
