"""TD-10, 26: epsilon is charged in one write and delta in a second one, which may not come."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import bindparam, update

from tacit.ledger import reserve as place
from tacit.ledger.budget import BudgetRow
from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease, Units
from tacit.store.store import Store
from tacit.store.tables import budgets

PLACE = "tacit.ledger.reserve:reserve_charge"
CAUGHT_BY = (
    "tests/ledger/test_path.py::test_a_charge_is_one_commit_its_epsilon_and_its_delta[sqlite]"
)
SHOWN = 'assert spent(ledger) == Loss.approximate("0.1", "1e-7")'

ADD_DELTA = (
    update(budgets)
    .where(budgets.c.population == bindparam("at"))
    .values(spent_delta=budgets.c.spent_delta + bindparam("delta"))
)

Reserve = Callable[..., Charge | StoredRelease]


def bug(original: Reserve) -> Reserve:
    deltas: list[int] = []
    cost_of = place.cost_of_event

    def epsilon_alone(budget: BudgetRow, *rest: Any) -> tuple[Units, str]:
        cost, event = cost_of(budget, *rest)
        deltas.append(cost.delta)
        return Units(cost.amount, 0), event

    place.cost_of_event = epsilon_alone

    def reserve(store: Store, question: ChargeRequest, **given: Any) -> Charge | StoredRelease:
        paid = original(store, question, **given)
        with store.writing() as work:
            for target in question.targets if deltas else ():
                work.run(ADD_DELTA, {"at": target.population.name, "delta": deltas.pop(0)})
        return paid

    return reserve
