"""TD-10, 23: a question that failed gives its money back, so failing is free."""

from collections.abc import Callable

from sqlalchemy import bindparam, update

from tacit.ledger.charge import Charge
from tacit.ledger.entries import Charged, decode_act
from tacit.store.store import Store
from tacit.store.tables import budgets

PLACE = "tacit.ledger.reserve:abandon"
CAUGHT_BY = "tests/ledger/test_path.py::test_what_is_given_up_is_not_refunded[sqlite]"
SHOWN = 'assert spent(ledger) == Loss.pure("0.1")'

REFUND = (
    update(budgets)
    .where(budgets.c.population == bindparam("at"))
    .values(spent_amount=budgets.c.spent_amount - bindparam("amount"))
)

Abandon = Callable[[Store, Charge], None]


def bug(original: Abandon) -> Abandon:
    def abandon(store: Store, charge: Charge) -> None:
        original(store, charge)
        with store.writing() as work:
            for entry in charge.entries:
                act = decode_act(entry.body)
                if isinstance(act, Charged):
                    work.run(REFUND, {"at": entry.population, "amount": act.amount})

    return abandon
