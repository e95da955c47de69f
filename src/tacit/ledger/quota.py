"""What each analyst and each group spends of a budget, counted in the work that charges it."""

from sqlalchemy import bindparam, select
from sqlalchemy.dialects.postgresql import insert as upsert

from tacit.errors import BudgetExceeded
from tacit.ledger.units import NO_LIMIT, Units
from tacit.store.tables import holders, members
from tacit.store.work import Work

_GROUPS = select(members.c.holder).where(
    members.c.population == bindparam("at"), members.c.principal == bindparam("principal")
)
_FIND = select(
    holders.c.cap_amount, holders.c.cap_delta, holders.c.spent_amount, holders.c.spent_delta
).where(holders.c.population == bindparam("at"), holders.c.holder == bindparam("holder"))
_OF_GROUPS = select(members.c.holder).where(
    members.c.population == bindparam("at"), members.c.principal == bindparam("holder")
)
_LEFT = select(
    holders.c.cap_amount - holders.c.spent_amount, holders.c.cap_delta - holders.c.spent_delta
).where(
    holders.c.population == bindparam("at"),
    (holders.c.holder == bindparam("holder")) | holders.c.holder.in_(_OF_GROUPS),
)

_new = upsert(holders)
_COUNT = _new.on_conflict_do_update(
    index_elements=[holders.c.population, holders.c.holder],
    set_={
        "spent_amount": holders.c.spent_amount + _new.excluded.spent_amount,
        "spent_delta": holders.c.spent_delta + _new.excluded.spent_delta,
    },
    where=(holders.c.spent_amount <= holders.c.cap_amount - _new.excluded.spent_amount)
    & (holders.c.spent_delta <= holders.c.cap_delta - _new.excluded.spent_delta),
)
_LIMIT = _new.on_conflict_do_update(
    index_elements=[holders.c.population, holders.c.holder],
    set_={
        "cap_amount": _new.excluded.cap_amount,
        "cap_delta": _new.excluded.cap_delta,
    },
)


def count(work: Work, population: str, holder: str, cost: Units) -> None:
    """Add ``cost`` to what ``holder`` spent, or refuse where it passes their quota."""
    values = {
        "population": population,
        "holder": holder,
        "cap_amount": NO_LIMIT.amount,
        "cap_delta": NO_LIMIT.delta,
        "spent_amount": cost.amount,
        "spent_delta": cost.delta,
    }
    if not work.run(_COUNT, values):
        raise BudgetExceeded(
            f"The quota of {holder} on {population!r} does not hold this question. Ask for "
            "less, or ask an owner to raise the quota."
        )


def limit(work: Work, population: str, holder: str, cap: Units) -> None:
    """Set the quota of ``holder``; what they spent before counts."""
    values = {
        "population": population,
        "holder": holder,
        "cap_amount": cap.amount,
        "cap_delta": cap.delta,
        "spent_amount": 0,
        "spent_delta": 0,
    }
    work.run(_LIMIT, values)


def quota_of(work: Work, population: str, holder: str) -> tuple[Units, Units] | None:
    """What ``holder`` may spend and has spent; None where nothing was set or spent."""
    row = work.one(_FIND, {"at": population, "holder": holder})
    return None if row is None else (Units(row[0], row[1]), Units(row[2], row[3]))


def left_of(work: Work, population: str, principal: str) -> tuple[Units, ...]:
    """What is left of each quota that a charge of ``principal`` counts for.

    It is less than nothing where a quota was lowered below what was spent.
    """
    rows = work.all(_LEFT, {"at": population, "holder": principal})
    return tuple(Units(amount, delta) for amount, delta in rows)


def holders_of(work: Work, population: str, principal: str) -> tuple[str, ...]:
    """For whom a charge of ``principal`` counts: themselves, and each of their groups."""
    rows = work.all(_GROUPS, {"at": population, "principal": principal})
    # sorted here, since databases disagree about the order of letters, and chains must not
    return (principal, *sorted(holder for (holder,) in rows))
