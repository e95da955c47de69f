"""One charge on several populations: all of them, or none."""

from collections.abc import Callable
from fractions import Fraction
from threading import Thread

import pytest
from asking import TENTH, answer, ask, open_pure, population

from tacit.core.event import LaplaceNoise
from tacit.core.loss import Loss
from tacit.errors import BudgetExceeded, InvalidValue, UnknownName
from tacit.ledger.charge import Charge, ChargeRequest, Target
from tacit.ledger.ledger import Ledger
from tacit.store.store import Store

FIFTH = LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(5))


@pytest.fixture
def ledger(store: Store) -> Ledger:
    return Ledger(store)


def ask_both(plan: str, *, principal: str = "ann") -> ChargeRequest:
    """A question about patients and staff, which costs twice as much of the staff."""
    one = ask(plan, principal=principal)
    targets = (Target(population("patients"), TENTH), Target(population("staff"), FIFTH))
    return ChargeRequest(
        targets=targets,
        principal=one.principal,
        request=one.request,
        plan=one.plan,
        loss=one.loss,
        policy=one.policy,
        epochs=one.epochs,
    )


def spent(ledger: Ledger) -> tuple[Loss, Loss]:
    return ledger.status("patients").spent, ledger.status("staff").spent


def entries(ledger: Ledger) -> list[int]:
    return [ledger.verify(name).entries for name in ("patients", "staff")]


def test_every_population_is_charged_its_own_price(ledger: Ledger) -> None:
    open_pure(ledger)
    open_pure(ledger, name="staff")
    charge = ledger.reserve(ask_both("a"), lease_ms=1000)
    assert isinstance(charge, Charge)
    assert [entry.population for entry in charge.entries] == ["patients", "staff"]
    assert charge.receipt not in {entry.hash for entry in charge.entries}
    for entry in charge.entries:
        assert ledger.receipt_at(entry.population, entry.seq) == charge.receipt
    assert spent(ledger) == (Loss.pure("0.1"), Loss.pure("0.2"))
    kept = ledger.keep(charge, b"42")
    assert ledger.reserve(ask_both("a"), lease_ms=1000) == kept
    assert spent(ledger) == (Loss.pure("0.1"), Loss.pure("0.2"))
    assert entries(ledger) == [3, 3]


def test_where_the_second_refuses_the_first_is_not_charged(ledger: Ledger) -> None:
    open_pure(ledger)
    open_pure(ledger, "0.3", name="staff")
    answer(ledger, ask_both("a"))
    with pytest.raises(BudgetExceeded, match=r"budget of 'staff': epsilon 0\.1 is left of"):
        answer(ledger, ask_both("b"))
    assert spent(ledger) == (Loss.pure("0.1"), Loss.pure("0.2"))
    assert entries(ledger) == [3, 3]


def test_where_a_quota_of_the_second_refuses_the_first_is_not_charged(ledger: Ledger) -> None:
    open_pure(ledger)
    open_pure(ledger, name="staff")
    ledger.set_quota("staff", "ann", Loss.pure("0.1"), by="olga")
    with pytest.raises(BudgetExceeded, match="quota of ann on 'staff'"):
        answer(ledger, ask_both("a"))
    assert spent(ledger) == (Loss.pure(0), Loss.pure(0))
    answer(ledger, ask_both("a", principal="bob"))
    assert entries(ledger) == [3, 4]


def test_where_the_second_is_unknown_the_first_is_not_charged(ledger: Ledger) -> None:
    open_pure(ledger)
    with pytest.raises(UnknownName, match="no budget for the population 'staff'"):
        answer(ledger, ask_both("a"))
    assert ledger.status("patients").spent == Loss.pure(0)
    assert ledger.verify("patients").entries == 1


def test_populations_that_are_out_of_order_never_reach_the_ledger() -> None:
    one = ask("a")
    backwards = (Target(population("staff"), FIFTH), Target(population("patients"), TENTH))
    with pytest.raises(InvalidValue, match="in sorted order"):
        ChargeRequest(backwards, "ann", "a", one.plan, one.loss, one.policy, one.epochs)


def test_many_at_once_wait_for_each_other_and_none_is_stuck(
    ledger: Ledger, store_address: str, opened: Callable[[str], Store]
) -> None:
    open_pure(ledger, "100")
    open_pure(ledger, "100", name="staff")
    failures: list[BaseException] = []

    def work(me: int) -> None:
        mine = Ledger(opened(store_address))  # as a process of its own
        for number in range(5):
            plan = f"{me} {number}"
            try:
                answer(mine, ask_both(plan) if number % 2 else ask(plan))
                answer(mine, ask(f"{plan} staff", of=population("staff")))
            except BaseException as error:  # noqa: BLE001 - told below
                failures.append(error)

    workers = [Thread(target=work, args=(me,)) for me in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert failures == []
    assert spent(ledger) == (Loss.pure(3), Loss.pure("5.4"))
    assert entries(ledger) == [1 + 2 * 30, 1 + 2 * (30 + 12)]
