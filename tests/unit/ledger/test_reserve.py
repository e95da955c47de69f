"""What a reservation refuses, and that a refusal charges nothing."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from asking import PERSON, TENTH, ask, open_pure
from sqlalchemy import delete

from tacit.core.event import (
    BallNoise,
    Event,
    GaussianNoise,
    KeySelection,
    LaplaceNoise,
    Nothing,
)
from tacit.core.loss import Budget, Loss
from tacit.core.privacy_unit import Neighbours, Population, PrivacyUnit
from tacit.errors import AnswerLost, BudgetExceeded, InternalError, InvalidValue, UnknownName
from tacit.ledger.charge import Charge
from tacit.ledger.ledger import Ledger
from tacit.ledger.reserve import reserve_charge
from tacit.store.store import Store
from tacit.store.tables import requests

GAUSS = GaussianNoise(sensitivity_square=Fraction(1), variance=Fraction(50))
KEYS = KeySelection(epsilon=Fraction(1, 10), delta=Fraction(1, 10**7), max_keys=1)
BALL = BallNoise(sensitivity_square=Fraction(1), scale=Fraction(10), dimensions=3)
PATIENTS = Population("patients", PERSON)


@pytest.fixture
def one_file(new_store: Callable[[str], str], opened: Callable[[str], Store]) -> Store:
    return opened(new_store("sqlite"))


@pytest.fixture
def ledger(one_file: Store) -> Ledger:
    return Ledger(one_file)


def pay(ledger: Ledger, plan: str, **given: object) -> Charge:
    paid = ledger.reserve(ask(plan, **given), lease_ms=1_000)  # type: ignore[arg-type]
    assert isinstance(paid, Charge)
    return paid


def open_with(ledger: Ledger, budget: Budget) -> None:
    ledger.open_budget(PATIENTS, budget, ("olga",), by="olga")


def test_what_does_not_fit_is_refused_with_what_is_left(ledger: Ledger) -> None:
    open_pure(ledger, "0.35")
    for plan in "abc":
        pay(ledger, plan)
    texts = []
    for plan in ("d", "e", "d"):
        with pytest.raises(BudgetExceeded) as refused:
            pay(ledger, plan, principal=plan)
        texts.append(str(refused.value))
    told = (
        "epsilon 0.1 does not fit into the budget of 'patients': epsilon 0.05 is left of "
        "epsilon 0.35. Ask for less, or ask the owners to raise the cap."
    )
    assert set(texts) == {told}
    assert ledger.status("patients").spent == Loss.pure("0.3")
    pay(ledger, "less", event=LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(20)))
    assert ledger.status("patients").left == Loss.pure(0)


def test_a_cap_is_filled_to_its_last_unit_and_not_beyond(ledger: Ledger) -> None:
    third = LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(3))
    open_pure(ledger, "1")
    pay(ledger, "a", event=third)
    pay(ledger, "b", event=third)
    with pytest.raises(BudgetExceeded):  # three thirds, each rounded up, are above one
        pay(ledger, "c", event=third)
    rest = Fraction(333333333332, 10**12)
    pay(ledger, "d", event=LaplaceNoise(sensitivity=rest, scale=Fraction(1)))
    with pytest.raises(BudgetExceeded):
        pay(ledger, "e", event=LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(10**30)))


@pytest.mark.parametrize(
    ("budget", "event", "spent"),
    [
        (Budget(Loss.pure(1)), TENTH, Loss.pure("0.1")),
        (Budget(Loss.approximate(1, "1e-6")), TENTH, Loss.approximate("0.1", 0)),
        (Budget(Loss.approximate(1, "1e-6")), KEYS, Loss.approximate("0.1", "1e-7")),
        (Budget(Loss.zcdp(1, "1e-6"), Fraction(1, 10**6)), GAUSS, Loss.zcdp("0.01")),
        (Budget(Loss.zcdp(1, "1e-6"), Fraction(1, 10**6)), TENTH, Loss.zcdp("0.005")),
    ],
)
def test_a_budget_counts_in_its_own_measure(
    ledger: Ledger, budget: Budget, event: Event, spent: Loss
) -> None:
    open_with(ledger, budget)
    pay(ledger, "a", event=event)
    assert ledger.status("patients").spent == spent


def test_a_price_delta_is_charged_where_an_epsilon_is_read_off_a_curve(ledger: Ledger) -> None:
    open_with(ledger, Budget(Loss.approximate(10, "1e-6")))
    asked = replace(ask("a", event=GAUSS), price_delta=Fraction(1, 10**7))
    ledger.reserve(asked, lease_ms=1)
    spent = ledger.status("patients").spent
    assert spent.delta == Fraction(1, 10**7)
    assert spent.amount > 0
    ledger.verify("patients")


def test_a_delta_alone_can_fill_a_budget(ledger: Ledger) -> None:
    open_with(ledger, Budget(Loss.approximate(100, "2e-7")))
    pay(ledger, "a", event=KEYS)
    pay(ledger, "b", event=KEYS)
    with pytest.raises(
        BudgetExceeded, match=r"epsilon 99\.8, delta 0 is left of epsilon 100, delta"
    ):
        pay(ledger, "c", event=KEYS)
    pay(ledger, "d", event=TENTH)


def test_idealised_noise_is_refused_unless_the_budget_allows_it(ledger: Ledger) -> None:
    open_with(ledger, Budget(Loss.pure(1)))
    with pytest.raises(
        InvalidValue, match="holds for real numbers only, but the budget allows"
    ):
        pay(ledger, "a", event=BALL)
    assert ledger.status("patients").spent == Loss.pure(0)
    study = Population("study", PERSON)
    ledger.open_budget(study, Budget(Loss.pure(1), idealised=True), ("olga",), by="olga")
    pay(ledger, "a", of=study, event=BALL)
    assert ledger.status("study").spent == Loss.pure("0.1")


def test_an_event_without_a_price_in_this_measure_is_refused(ledger: Ledger) -> None:
    open_pure(ledger)
    with pytest.raises(InvalidValue, match="no pure epsilon"):
        pay(ledger, "a", event=GAUSS)
    assert ledger.status("patients").spent == Loss.pure(0)


@pytest.mark.parametrize(
    "unit", [PrivacyUnit("visit"), PrivacyUnit("person", Neighbours.REPLACE_ONE)]
)
def test_a_question_that_protects_others_is_refused(ledger: Ledger, unit: PrivacyUnit) -> None:
    open_pure(ledger)
    told = "protects one person .add or remove one., but the question was priced for one"
    with pytest.raises(InvalidValue, match=told):
        pay(ledger, "a", of=Population("patients", unit))
    assert ledger.status("patients").spent == Loss.pure(0)


def test_a_population_without_a_budget_is_refused(ledger: Ledger) -> None:
    with pytest.raises(UnknownName, match="no budget for the population 'patients'; an owner"):
        pay(ledger, "a")
    with pytest.raises(UnknownName, match="no budget"):
        ledger.status("patients")
    with pytest.raises(UnknownName, match="no budget"):
        ledger.raise_cap("patients", Loss.pure(1), "x", by="olga")


def test_a_question_about_nothing_is_free_and_recorded(ledger: Ledger) -> None:
    open_pure(ledger)
    pay(ledger, "a", event=Nothing())
    assert ledger.status("patients").spent == Loss.pure(0)
    assert ledger.verify("patients").entries == 2


def test_the_call_that_charged_finds_its_own_charge_and_no_other_does(
    one_file: Store,
) -> None:
    ledger = Ledger(one_file)
    open_pure(ledger)
    asked = ask("a")
    first = reserve_charge(one_file, asked, nonce=b"mine", now=0, until=10)
    assert reserve_charge(one_file, asked, nonce=b"mine", now=0, until=10) == first
    assert ledger.status("patients").spent == Loss.pure("0.1")
    with pytest.raises(AnswerLost):
        reserve_charge(one_file, asked, nonce=b"another", now=10, until=20)


def test_a_remembered_charge_that_is_not_in_the_chain_is_our_mistake(
    one_file: Store,
) -> None:
    open_pure(Ledger(one_file))
    reserve_charge(one_file, ask("a"), nonce=b"mine", now=0, until=10)
    with one_file.writing() as work:
        work.run(delete(requests), {})
        row = {"principal": "ann", "request": ask("a").request_key, "nonce": b"mine"}
        work.run(requests.insert(), {**row, "binding": ask("a").binding, "places": "99"})
    with pytest.raises(InternalError, match="not in the chain"):
        reserve_charge(one_file, ask("a"), nonce=b"mine", now=0, until=10)
