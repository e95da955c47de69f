"""Quotas of a group of charges: count the costs of several analysts in a few statements.

`tacit.ledger.budget.count_for_all` counts one charge, and it words the refusal if a quota is
too small. Here the costs of a whole group are added up for each holder, and then counted by the
same conditional statement. Costs are never negative, so if the sum fits, each of the charges
would have fitted. If a sum does not fit, nothing is written, and the charges are tried one by
one.

**A new rule about quotas belongs to both**: the tests of the committer compare groups with
charges one by one.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import CompoundSelect, Select, Text, bindparam, select

from tacit import errors
from tacit.ledger.budget import (
    COUNT,
    EVERYBODY,
    Quota,
    count_row,
    read_quota,
    sort_holders,
    with_default,
)
from tacit.ledger.charge import NO_UNITS, Units
from tacit.store import Work
from tacit.store.tables import holders, members


def count_for_many(
    work: Work, population: str, costs: Mapping[str, Units]
) -> dict[str, tuple[str, ...]]:
    """Add the cost of each principal to the sums of their holders, and return these holders.

    It does what `count_for_all` does for each of them, in a few statements. Raise `Conflict`
    if a quota is exceeded: then nothing may be written, and `count_for_all` says which one. The
    row of the budget must be locked.
    """
    if not costs:
        return {}
    found: dict[str, list[tuple[str]]] = {principal: [] for principal in costs}
    values = {"at": population, **_parameters("principal", costs)}
    for principal, holder in work.all(_groups_of_many(_size_of(costs)), values):
        found[principal].append((holder,))
    if any((EVERYBODY,) in rows for rows in found.values()):
        _check_default(work, population, costs)
    holders_ = {principal: sort_holders(principal, rows) for principal, rows in found.items()}
    sums: dict[str, Units] = {}
    for principal, cost in costs.items():
        for holder in holders_[principal]:
            sums[holder] = sums.get(holder, NO_UNITS) + cost
    rows = [count_row(population, holder, cost) for holder, cost in sorted(sums.items())]
    if work.run_many(COUNT, rows) != len(rows):
        raise errors.Conflict("A quota does not allow all of these charges; try each alone.")
    return holders_


def _check_default(work: Work, population: str, costs: Mapping[str, Units]) -> None:
    """Raise `Conflict` if a cost exceeds the quota, or the default quota, of its principal."""
    values = {"at": population, **_parameters("holder", costs)}
    rows = work.all(_quotas_of_many(_size_of(costs)), values)
    quotas = {holder: read_quota(amounts) for holder, *amounts in rows}
    usual = quotas.pop(EVERYBODY, Quota())
    for principal, cost in costs.items():
        if not cost <= with_default(quotas.get(principal, Quota()), usual).left:
            raise errors.Conflict("A quota does not allow these charges; try each alone.")


def _size_of(costs: Mapping[str, Units]) -> int:
    """Return a power of 2, so that few different statements are compiled and prepared."""
    return 1 << (len(costs) - 1).bit_length()


def _parameters(name: str, costs: Mapping[str, Units]) -> dict[str, object]:
    """Return the principals as parameters with numbers; the last one fills up the rest."""
    names = list(costs)
    names += names[-1:] * (_size_of(costs) - len(names))
    return {f"{name}{number}": each for number, each in enumerate(names)}


@lru_cache
def _groups_of_many(size: int) -> CompoundSelect[Any]:
    """Return the statement of `_GROUPS` for so many principals, each row with its principal."""
    names: list[Any] = [bindparam(f"principal{number}") for number in range(size)]
    return (
        select(members.c.principal, members.c.holder)
        .where(members.c.population == bindparam("at"), members.c.principal.in_(names))
        .union_all(
            select(bindparam("principal0", type_=Text), holders.c.holder).where(
                holders.c.population == bindparam("at"), holders.c.holder == EVERYBODY
            )
        )
    )


@lru_cache
def _quotas_of_many(size: int) -> Select[Any]:
    """Return the statement that reads the quotas of several holders, and the default quota."""
    names: list[Any] = [bindparam(f"holder{number}") for number in range(size)]
    return select(
        holders.c.holder,
        holders.c.cap_amount,
        holders.c.cap_delta,
        holders.c.spent_amount,
        holders.c.spent_delta,
    ).where(
        holders.c.population == bindparam("at"),
        (holders.c.holder == EVERYBODY) | holders.c.holder.in_(names),
    )
