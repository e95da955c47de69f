"""A ledger in which everything happened that can happen, for tests of evidence."""

from dataclasses import replace

from asking import LEASE_MS, TENTH, answer, ask, open_pure, population

from tacit.core.loss import Budget, Loss
from tacit.ledger.chain import append
from tacit.ledger.charge import Charge, ChargeRequest, Target
from tacit.ledger.entries import FactsDeclared, OwnerAdded, OwnerRemoved
from tacit.ledger.ledger import Ledger

QUESTIONS = 24


def joint(plan: str) -> ChargeRequest:
    """A question about patients and staff."""
    targets = tuple(Target(population(name), TENTH) for name in ("patients", "staff"))
    return replace(ask(plan), targets=targets)


def charged(ledger: Ledger, question: ChargeRequest) -> Charge:
    """A charge whose answer has not come."""
    paid = ledger.reserve(question, lease_ms=LEASE_MS)
    assert isinstance(paid, Charge)
    return paid


def write_history(ledger: Ledger, questions: int = QUESTIONS) -> None:
    """Entries of every kind, in the chains of two populations."""
    two = ("olga", "omar")
    ledger.open_budget(population(), Budget(Loss.pure("3")), two, by="olga")
    open_pure(ledger, "1", "staff")
    ledger.set_quota("patients", "ann", Loss.pure("1.5"), by="olga")
    ledger.set_quota("patients", "@oncology", Loss.pure("2"), by="omar")
    ledger.join("patients", "ann", "@oncology", by="omar")
    with ledger._store.writing() as work:  # as version 0.1 wrote it, without a number
        append(
            work, "patients", FactsDeclared(("visits.age: integer from 0 to 120",), "omar", 1)
        )
    for number in range(questions):
        asker = ("ann", "bob", "cem")[number % 3]
        question = ask(f"count {number}", principal=asker)
        if number == 13:
            ledger.miss(charged(ledger, question))
            ledger.look("patients", by="omar")
        elif number % 8 == 5:
            ledger.abandon(charged(ledger, question))
        else:
            answer(ledger, question)
        if number == questions // 2:
            rise = ledger.raise_cap("patients", Loss.pure("0.5"), "a new study", by="olga")
            ledger.approve("patients", rise.seq, by="omar")
    answer(ledger, joint("both"))
    ledger.abandon(charged(ledger, joint("both, lost")))
    third = ledger.propose("patients", OwnerAdded("owen"), by="omar")
    ledger.approve("patients", third.seq, by="olga")
    gone = ledger.propose("patients", OwnerRemoved("omar"), by="owen")
    ledger.approve("patients", gone.seq, by="olga")
    ledger.raise_cap("patients", Loss.pure("9"), "nobody agreed to this", by="olga")
    ledger.raise_cap("staff", Loss.pure("1"), "alone", by="olga")
    ledger.declare("staff", ("shifts.hours: integer",), ("path 1",), by="olga")
    ledger.freeze("staff", by="olga")
    ledger.thaw("staff", by="olga")
    answer(ledger, ask("the last"))
