"""What a decision of the owners changes."""

from sqlalchemy import bindparam, delete, insert, select, update

from tacit.errors import InvalidValue
from tacit.ledger.act import CapRaised, Decision, OwnerAdded, OwnerRemoved
from tacit.ledger.chain import ALL_TIME
from tacit.ledger.least import follow_cap
from tacit.ledger.units import MOST
from tacit.store.tables import budgets, owners
from tacit.store.work import Work

_OWNERS = select(owners.c.owner).where(owners.c.population == bindparam("at"))
_ADD = insert(owners)
_REMOVE = delete(owners).where(
    owners.c.population == bindparam("at"), owners.c.owner == bindparam("who")
)
_RAISE = (
    update(budgets)
    .where(
        budgets.c.population == bindparam("at"),
        budgets.c.period == ALL_TIME,
        budgets.c.cap_amount <= bindparam("most_amount"),
        budgets.c.cap_delta <= bindparam("most_delta"),
    )
    .values(
        cap_amount=budgets.c.cap_amount + bindparam("amount"),
        cap_delta=budgets.c.cap_delta + bindparam("delta"),
    )
)


def apply(work: Work, population: str, decision: Decision) -> None:
    """Make ``decision`` hold. What was charged is never lowered: only a cap can be raised."""
    match decision:
        case CapRaised(amount, delta, _):
            values = {
                "at": population,
                "amount": amount,
                "delta": delta,
                "most_amount": MOST - amount,
                "most_delta": MOST - delta,
            }
            if not work.run(_RAISE, values):
                raise InvalidValue("A cap of this size is not counted; raise it by less.")
            follow_cap(work, population)
        case OwnerAdded(owner):
            if owner in owners_of(work, population):
                raise InvalidValue(f"{owner} is an owner already.")
            work.run(_ADD, {"population": population, "owner": owner})
        case OwnerRemoved(owner):
            if owners_of(work, population) == {owner}:
                raise InvalidValue("The last owner stays.")
            if not work.run(_REMOVE, {"at": population, "who": owner}):
                raise InvalidValue(f"{owner} is not an owner.")


def owners_of(work: Work, population: str) -> set[str]:
    """Who governs the budget of ``population``."""
    return {owner for (owner,) in work.all(_OWNERS, {"at": population})}
