"""Answers that missed their public deadline: each is told of, and stops all charges.

A miss is the one event below a charge that is seen and can depend on the data. So whoever sees
one sees no second before an owner has looked, whoever asks (decision 34).
"""

from sqlalchemy import bindparam, update

from tacit.errors import InvalidValue, NotPermitted
from tacit.ledger.act import Looked, Missed
from tacit.ledger.answer import abandoned
from tacit.ledger.budget_row import find_budget
from tacit.ledger.chain import ALL_TIME, append
from tacit.ledger.charge import Charge
from tacit.ledger.decide import owners_of
from tacit.ledger.entry import Entry
from tacit.ledger.signature import Signature
from tacit.store.store import Store
from tacit.store.tables import budgets

_here = (budgets.c.population == bindparam("at")) & (budgets.c.period == ALL_TIME)
_MISS = update(budgets).where(_here).values(missed=budgets.c.missed + 1)
_LOOK = update(budgets).where(_here).values(looked=budgets.c.missed)


def miss(store: Store, charge: Charge, now: int) -> None:
    """Say that no answer to ``charge`` came in time, in the chains of all its populations.

    Guarantee: once this returns, nothing is charged to them before an owner looks.
    """
    with store.writing() as work:
        for entry in charge.entries:
            append(work, entry.population, Missed(entry.seq, now))
            work.run(_MISS, {"at": entry.population})
        abandoned(work, charge)


def look(store: Store, population: str, signed: Signature) -> Entry:
    """Say that an owner looked at all that was missed so far."""
    with store.writing() as work:
        entry = append(work, population, Looked(signed.by, signed.at))
        if signed.by not in owners_of(work, population):
            raise NotPermitted(f"{signed.by} does not own the budget of {population!r}.")
        if not find_budget(work, population).locked:
            raise InvalidValue(f"No answer about {population!r} waits for an owner to look.")
        work.run(_LOOK, {"at": population})
        return entry
