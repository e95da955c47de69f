"""Renaming, copying and registering again gain nothing: the budget is that of the people."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import pytest
from asking import PERSON, TENTH, answer
from conftest import Bar

from tacit.core.catalog import Catalog, Dataset, Epoch, Limits, Link, Location, UnitColumn
from tacit.core.domain import Column, Kind, Schema
from tacit.core.loss import Budget, Loss
from tacit.core.privacy_unit import Population
from tacit.errors import BudgetExceeded, InvalidValue
from tacit.ledger.charge import ChargeRequest, Target
from tacit.ledger.ledger import Ledger
from tacit.store.store import SqlStore

TIMES = 50
PATIENTS = Population("patients", PERSON)
VISITS = Dataset(
    name="visits",
    population="patients",
    schema=Schema((Column("patient", Kind.TEXT), Column("ward", Kind.TEXT))),
    unit=UnitColumn("patient"),
    limits=Limits(max_groups=3, max_rows=10),
    location=Location("warehouse", ("hospital", "visits")),
    epoch=Epoch("2026-W46"),
)

Again = Callable[[int], Catalog]

WAYS: dict[str, Again] = {
    "renamed": lambda time: Catalog((PATIENTS,), (replace(VISITS, name=f"visits_{time}"),)),
    "copied": lambda time: Catalog(
        (PATIENTS,),
        (replace(VISITS, name=f"copy_{time}", location=Location("laptop", (f"copy_{time}",))),),
    ),
    "refreshed": lambda time: Catalog(
        (PATIENTS,), (replace(VISITS, epoch=Epoch(f"2026-W46, take {time}")),)
    ),
    "linked": lambda time: Catalog(
        (PATIENTS,),
        (
            VISITS,
            replace(VISITS, name=f"doses_{time}", unit=Link("ward", "visits", "patient")),
        ),
    ),
}


@pytest.fixture
def ledger(new_store: Callable[[str], str], opened: Callable[[str], SqlStore]) -> Ledger:
    return Ledger(opened(new_store("sqlite")))


def register(ledger: Ledger, catalog: Catalog) -> int:
    """Open a budget for each population that has none; how many were opened."""
    opened = 0
    for population in catalog.populations:
        try:
            ledger.open_budget(population, Budget(Loss.pure("0.3")), ("olga",), by="olga")
        except InvalidValue:
            continue
        opened += 1
    return opened


def question(catalog: Catalog, view: str, number: int) -> ChargeRequest:
    """A count of a dataset, charged to whom the catalog says that it speaks of."""
    dataset = catalog.dataset(view)
    plan = f"count {view}"
    return ChargeRequest(
        targets=(Target(catalog.population(dataset.population), TENTH),),
        principal=f"account {number}",
        request=f"{view} {number}",
        plan=sha256(plan.encode()).digest(),
        loss=Loss.pure("0.1"),
        policy="1",
        epochs=(f"{view} {dataset.epoch.label}",),
    )


def answered(ledger: Ledger, catalog: Catalog, number: int) -> bool:
    try:
        answer(ledger, question(catalog, catalog.datasets[-1].name, number))
    except BudgetExceeded:
        return False
    return True


@pytest.mark.parametrize("way", WAYS)
def test_no_new_name_has_a_fresh_budget(ledger: Ledger, way: str, bar: Bar) -> None:
    budgets = granted = 0
    for number in range(TIMES):
        catalog = WAYS[way](number)
        budgets += register(ledger, catalog)
        granted += answered(ledger, catalog, number)
    assert (budgets, granted) == (1, 3)
    status = ledger.status("patients")
    assert status.left == Loss.pure(0)
    bar(f"answers out of a budget for 3, {way} {TIMES} times", granted, "3", granted == 3)


def test_another_population_does_have_one_of_its_own(ledger: Ledger) -> None:
    catalog = Catalog(
        (PATIENTS, Population("staff", PERSON)),
        (VISITS, replace(VISITS, name="shifts", population="staff")),
    )
    assert register(ledger, catalog) == 2
    for number in range(3):
        answer(ledger, question(catalog, "visits", number))
        answer(ledger, replace(question(catalog, "shifts", number), policy=str(number)))
    assert ledger.status("patients").spent == Loss.pure("0.1")  # the same question each time
    assert ledger.status("staff").spent == Loss.pure("0.3")
