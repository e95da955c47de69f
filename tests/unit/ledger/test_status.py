"""What a budget's screen shows: exact, and never more than is left."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from asking import PERSON, TENTH, answer, ask, open_pure
from hypothesis import example, given
from hypothesis import strategies as st

from tacit.accounting.convert import to_approximate_dp
from tacit.core.event import Event, GaussianNoise, KeySelection, LaplaceNoise, Nothing
from tacit.core.loss import Budget, Loss, Measure
from tacit.core.privacy_unit import Population
from tacit.errors import BudgetExceeded, InvalidValue
from tacit.ledger.budget import Status, Terms
from tacit.ledger.charge import AMOUNT_UNITS, Units
from tacit.ledger.ledger import Ledger
from tacit.store.store import Store

MILLIONTH = Fraction(1, 10**6)
GAUSS = GaussianNoise(sensitivity_square=Fraction(1), variance=Fraction(50))
KEYS = KeySelection(epsilon=Fraction(1, 10), delta=Fraction(1, 10**7), max_keys=1)


@pytest.fixture
def ledger(new_store: Callable[[str], str], opened: Callable[[str], Store]) -> Ledger:
    return Ledger(opened(new_store("sqlite")))


@given(st.integers(0, 10**13), st.integers(0, 10**13))
@example(999_999_999_999, 10**12)
@example(1, 3)
def test_what_is_left_is_never_rounded_up(spent: int, more: int) -> None:
    status = Status(
        "patients", Measure.PURE, Fraction(0), Units(spent + more, 0), Units(spent, 0)
    )
    assert status.left.amount == Fraction(more, AMOUNT_UNITS)
    assert status.spent + status.left == status.cap


def test_what_is_left_is_exactly_what_still_fits(ledger: Ledger) -> None:
    open_pure(ledger)
    third = LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(3))
    answer(ledger, ask("a", event=third))
    answer(ledger, ask("b", event=third))
    left = ledger.status("patients").left
    assert str(left) == "ε = 0.333333333332"
    a_unit_more = LaplaceNoise(left.amount + Fraction(1, AMOUNT_UNITS), Fraction(1))
    with pytest.raises(BudgetExceeded):
        answer(ledger, ask("c", event=a_unit_more))
    answer(ledger, ask("d", event=LaplaceNoise(left.amount, Fraction(1))))
    assert ledger.status("patients").left == Loss.pure(0)


def test_a_budget_in_rho_shows_its_epsilon_and_delta(ledger: Ledger) -> None:
    budget = Budget(Loss.zcdp("0.1", "1e-7"), MILLIONTH)
    ledger.open_budget(Population("patients", PERSON), budget, ("olga",), by="olga")
    answer(ledger, ask("a", event=GAUSS))
    status = ledger.status("patients")
    assert (status.measure, status.conversion_delta) == (Measure.ZCDP, MILLIONTH)
    assert status.spent == Loss.zcdp("0.01")
    assert status.total == to_approximate_dp(budget.cap, MILLIONTH)
    assert status.total.delta == Fraction(11, 10**7)
    assert status.total_so_far == to_approximate_dp(Loss.zcdp("0.01"), MILLIONTH)
    assert status.total_so_far.amount < status.total.amount


def test_a_budget_in_epsilon_promises_its_cap(ledger: Ledger) -> None:
    open_pure(ledger)
    answer(ledger, ask("a"))
    status = ledger.status("patients")
    assert status.total == Loss.pure(1)
    assert status.total_so_far == Loss.pure("0.1")


@pytest.mark.parametrize(
    ("cap", "event", "fits"),
    [
        (Loss.pure("0.35"), TENTH, 3),
        (Loss.pure("0.09"), TENTH, 0),
        (Loss.approximate(1, "2.5e-7"), KEYS, 2),
        (Loss.approximate("0.15", 1), KEYS, 1),
        (Loss.approximate(1, 0), TENTH, 10),
    ],
)
def test_so_many_more_questions_fit_and_not_one_more(
    ledger: Ledger, cap: Loss, event: Event, fits: int
) -> None:
    ledger.open_budget(Population("patients", PERSON), Budget(cap), ("olga",), by="olga")
    assert ledger.status("patients").questions_like(event) == fits
    for number in range(fits):
        answer(ledger, ask(str(number), event=event))
    assert ledger.status("patients").questions_like(event) == 0
    with pytest.raises(BudgetExceeded):
        answer(ledger, ask("one more", event=event))


@pytest.mark.parametrize(
    ("least", "price", "paid"),
    [
        (None, "0.1", "0.1"),
        ("0.05", "0.1", "0.1"),
        ("0.1", "0.1", "0.1"),
        ("0.2", "0.1", "0.2"),
    ],
)
def test_a_price_is_raised_to_the_least_price(least: str | None, price: str, paid: str) -> None:
    lowest = None if least is None else Loss.approximate(least, 0)
    terms = Terms("patients", Measure.APPROXIMATE, Fraction(0), lowest)
    found = terms.apply_least_price(Loss.approximate(price, MILLIONTH))
    assert found == Loss.approximate(paid, MILLIONTH)  # the delta stays


def test_a_status_without_incidents_has_none() -> None:
    status = Status("patients", Measure.PURE, Fraction(0), Units(2, 0), Units(1, 0))
    assert (status.missed, status.failed, status.retried) == (0, 0, 0)
    assert not status.locked
    assert not status.frozen
    assert (status.declaration, status.quotas_left) == (0, ())
    assert status.least == Loss.pure(0)
    assert status.terms == Terms("patients", Measure.PURE, Fraction(0), Loss.pure(0))


def test_free_questions_are_not_counted(ledger: Ledger) -> None:
    open_pure(ledger)
    with pytest.raises(InvalidValue, match="any number of them fits"):
        ledger.status("patients").questions_like(Nothing())
