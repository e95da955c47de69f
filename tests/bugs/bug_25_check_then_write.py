"""TD-10, 25: whether a cost fits is looked up first, and written without a condition."""

from collections.abc import Callable

from sqlalchemy import bindparam, null, update

from tacit.ledger import reserve
from tacit.ledger.budget import BudgetRow, find_budget
from tacit.ledger.charge import ChargeRequest, Target, Units, price
from tacit.ledger.entries import Entry
from tacit.store.tables import budgets
from tacit.store.unit_of_work import Work

PLACE = "tacit.ledger.reserve:_charge"
CAUGHT_BY = "tests/ledger/test_path.py::test_two_who_both_saw_room_do_not_both_get_it"
SHOWN = "assert (2, 0) == (1, 1)"

UNCONDITIONAL = (
    update(budgets)
    .where(budgets.c.population == bindparam("at"))
    .values(
        spent_amount=budgets.c.spent_amount + bindparam("amount"),
        spent_delta=budgets.c.spent_delta + bindparam("delta"),
        head_seq=budgets.c.head_seq + 1,
    )
    .returning(
        budgets.c.head_seq,
        budgets.c.head_hash,
        null(),  # the hash in the chain, which is looked up where it is unknown
        budgets.c.missed,
        budgets.c.failed,
        budgets.c.retried,
    )
)

Spend = Callable[[Work, ChargeRequest, Target, bytes, int, int], tuple[Entry, int]]


def fits(budget: BudgetRow, cost: Units) -> bool:
    return budget.spent + cost <= budget.cap


def bug(original: Spend) -> Spend:
    reserve.SPEND = UNCONDITIONAL

    def charge(  # noqa: PLR0913, PLR0917 - as what it stands for
        work: Work,
        question: ChargeRequest,
        target: Target,
        nonce: bytes,
        now: int,
        declaration: int,
    ) -> tuple[Entry, int]:
        budget = find_budget(work, target.population.name)
        cost = price(target.event, budget.measure, question.price_delta)
        if not fits(budget, cost):
            raise budget.refusal(target.population.name, cost, declaration)
        return original(work, question, target, nonce, now, declaration)

    return charge
