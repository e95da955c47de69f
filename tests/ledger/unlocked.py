"""The lie beside the races: a ledger that looks, compares, and then writes.

Each of its steps is right by itself, and its chain and its sums are written in one transaction.
What it lacks is that nobody else may write between its look and its write.
"""

from asking import TENTH
from sqlalchemy import bindparam, update

from tacit.core.codec import encode_event
from tacit.errors import AnswerLost, BudgetExceeded, Conflict
from tacit.ledger.budget import count, find_budget
from tacit.ledger.chain import append
from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease, price
from tacit.ledger.entries import Charged
from tacit.ledger.ledger import NONCE_BYTES, Ledger
from tacit.ledger.reserve import claim, look
from tacit.numeric.entropy import fresh_bytes
from tacit.store.tables import budgets

_SET = (
    update(budgets)
    .where(budgets.c.population == bindparam("at"))
    .values(spent_amount=bindparam("amount"), spent_delta=bindparam("delta"))
)


class UnlockedLedger(Ledger):
    """A ledger whose charges are decided by an `if` instead of by the update itself."""

    def reserve(self, question: ChargeRequest, *, lease_ms: int) -> Charge | StoredRelease:
        """Charge ``question``, unless it did not fit when it was looked at."""
        now = self._clock()
        name = question.populations[0]
        with self._store.reading() as work:
            stored = look(work, question.release_key, now)
            budget = find_budget(work, name)
        if stored is not None:
            return stored
        cost = price(TENTH, budget.measure, question.price_delta)
        spent = budget.spent + cost
        if not spent <= budget.cap:
            raise BudgetExceeded(f"This does not fit into the budget of {name!r}.")
        act = Charged(
            principal=question.principal,
            holders=(question.principal,),
            request=question.request_key.hex(),
            plan=question.plan.hex(),
            release=question.release_key.hex(),
            event=encode_event(TENTH),
            amount=cost.amount,
            delta=cost.delta,
            price_delta=str(question.price_delta),
            populations=question.populations,
            nonce=fresh_bytes(NONCE_BYTES).hex(),
            at=now,
        )
        try:
            with self._store.writing() as work:
                work.run(_SET, {"at": name, "amount": spent.amount, "delta": spent.delta})
                count(work, name, question.principal, cost)
                charge = Charge((append(work, name, act),), question.release_key)
                claim(work, charge, now, now + lease_ms)
        except Conflict as error:
            raise AnswerLost from error
        return charge
