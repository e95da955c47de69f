"""Owners of a population, the effect of their decisions, and the tables of each population.

A person's budget must not start again because a table was renamed or moved to another
population. The second part of this file therefore records which physical tables each population
has or once had, and computes the loss that a population inherits with a table.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from tacit.errors import InvalidValue
from tacit.ledger.book import Book
from tacit.ledger.budget import follow_cap
from tacit.ledger.chain import ALL_TIME
from tacit.ledger.charge import MOST, NO_INCIDENTS, NO_UNITS, IncidentCounts, Units
from tacit.ledger.entries import CapRaised, Decision, OwnerAdded, OwnerRemoved
from tacit.ledger.owner_keys import apply_to_keys
from tacit.store import Work
from tacit.store.tables import budgets, holdings, owners

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


_LOWER = (
    update(budgets)
    .where(
        budgets.c.population == bindparam("at"),
        budgets.c.period == ALL_TIME,
        budgets.c.cap_amount >= bindparam("amount"),
        budgets.c.cap_delta >= bindparam("delta"),
        budgets.c.spent_amount <= bindparam("amount"),
        budgets.c.spent_delta <= bindparam("delta"),
    )
    .values(cap_amount=bindparam("amount"), cap_delta=bindparam("delta"))
)


def lower_cap(work: Work, population: str, cap: Units) -> bool:
    """Lower the cap to ``cap``; return False if it is larger, or below what is spent."""
    values = {"at": population, "amount": cap.amount, "delta": cap.delta}
    if not work.run(_LOWER, values):
        return False
    follow_cap(work, population)
    return True


def apply(work: Work, population: str, decision: Decision, seq: int) -> None:
    """Apply ``decision``, which takes effect by entry ``seq``.

    The sum of charges stays as it is, whatever is decided.
    """
    apply_to_keys(work, population, decision, seq)
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
                raise InvalidValue(
                    f"The cap of {population!r} would exceed the largest amount that a ledger "
                    "can store. Raise it by less."
                )
            follow_cap(work, population)
        case OwnerAdded(owner):
            if owner in owners_of(work, population):
                raise InvalidValue(
                    f"{owner} is already an owner of the budget of {population!r}, so nothing "
                    "was changed."
                )
            work.run(_ADD, {"population": population, "owner": owner})
        case OwnerRemoved(owner):
            if owners_of(work, population) == {owner}:
                raise InvalidValue(
                    f"{owner} is the last owner of the budget of {population!r} and cannot be "
                    "removed. Add another owner first."
                )
            if not work.run(_REMOVE, {"at": population, "who": owner}):
                raise InvalidValue(
                    f"{owner} is not an owner of the budget of {population!r}. Name one of its "
                    "owners, as the project file writes the name."
                )


def owners_of(work: Work, population: str) -> set[str]:
    """Return the owners of the budget of ``population``."""
    return {owner for (owner,) in work.all(_OWNERS, {"at": population})}


# ------------------------------------------------------------------ tables and inheritance
# The ledger records the identities of each population's tables (`tacit.engines.table_identity`
# computes them), and enforces two rules:
#
# 1. A table belongs to one population at a time. A unique index of the database enforces this.
# 2. A population that gets a table inherits the loss that was spent under every population that
#    ever had the table. The amounts are added to what the new population has spent, as an
#    entry in its chain.
#
# For rule 2, each chain distinguishes the loss spent by its *own* questions from the loss that
# it inherited, by source. When B takes a table that A has or had, B inherits A's own sum and,
# source by source, everything that A inherited. Three corrections avoid double counting:
#
# * The amount that B has inherited from the same source before is subtracted.
# * B's own charges, if A has inherited them, are left out.
# * If two earlier populations inherited from one source, B inherits the larger amount.
#
# Late and failed answers are inherited in the same way, once the owners of the other population
# have reviewed them.


class Owed(NamedTuple):
    """The loss, and the late and failed answers, to be inherited from one source."""

    units: Units
    troubles: IncidentCounts

    @property
    def is_something(self) -> bool:
        """Whether there is anything to inherit."""
        return self.units != NO_UNITS or self.troubles != NO_INCIDENTS

    def larger(self, other: "Owed") -> "Owed":
        """Return the larger of the two losses, and of the two counts of each incident."""
        units = Units(
            max(self.units.amount, other.units.amount), max(self.units.delta, other.units.delta)
        )
        return Owed(units, self.troubles | other.troubles)


MOMENTARY = "inode "
"""Prefix of identities that are valid only while the table exists.

A file system reuses the inode number of a deleted file. Such an identity distinguishes two
tables that exist at the same time, but does not identify a table of the past.
"""

_OF = select(holdings.c.identity, holdings.c.current).where(
    holdings.c.population == bindparam("at")
)
_HOLDERS = select(holdings.c.population, holdings.c.current).where(
    holdings.c.identity == bindparam("identity"), holdings.c.population != bindparam("at")
)
_UNKNOWN = select(budgets.c.population).where(
    budgets.c.declared == 0, (budgets.c.spent_amount > 0) | (budgets.c.spent_delta > 0)
)
_new = upsert(holdings)
_SET = _new.on_conflict_do_update(
    index_elements=[holdings.c.population, holdings.c.identity],
    set_={"current": _new.excluded.current},
)


def holdings_of(work: Work, population: str) -> dict[str, bool]:
    """Return the identities of tables that ``population`` has (True) or once had (False)."""
    return {identity: bool(now) for identity, now in work.all(_OF, {"at": population})}


def release_tables(work: Work, population: str, kept: Iterable[str]) -> None:
    """Record that the population no longer has its tables, except those in ``kept``."""
    gone = holdings_of(work, population).keys() - set(kept)
    for identity in sorted(gone):
        work.run(_SET, {"population": population, "identity": identity, "current": 0})


def claim_tables(work: Work, population: str, tables: Iterable[str]) -> None:
    """Record that the population has ``tables``; raise `Conflict` if another one has one."""
    for identity in sorted(set(tables)):
        work.run(_SET, {"population": population, "identity": identity, "current": 1})


def other_holders(
    work: Work, population: str, tables: Iterable[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the other populations that have one of ``tables``, and those that ever had one."""
    now, ever = set(), set()
    for identity in tables:
        found = work.all(_HOLDERS, {"at": population, "identity": identity})
        now |= {name for name, current in found if current}
        if not identity.startswith(MOMENTARY):
            ever |= {name for name, _ in found}
    return frozenset(now), frozenset(ever)


def with_unknown_tables(work: Work) -> frozenset[str]:
    """Return the charged populations whose tables the ledger does not know.

    Version 0.1 did not record tables.
    """
    return frozenset(name for (name,) in work.all(_UNKNOWN, {}))


def owed_by_source(heir: Book, holders: Iterable[Book]) -> Mapping[str, Owed]:
    """Return what ``heir`` must inherit when it takes tables of ``holders``, by source."""
    due: dict[str, Owed] = {}
    for holder in holders:
        troubles = {**holder.inherited_troubles, holder.population: holder.own_troubles}
        spent = {**holder.inherited, holder.population: holder.own}
        for source in spent.keys() | troubles.keys():
            found = Owed(spent.get(source, NO_UNITS), troubles.get(source, NO_INCIDENTS))
            due[source] = due[source].larger(found) if source in due else found
    due.pop(heir.population, None)
    missing = {
        source: Owed(
            _beyond(owed.units, heir.inherited.get(source, NO_UNITS)),
            owed.troubles.beyond(heir.inherited_troubles.get(source, NO_INCIDENTS)),
        )
        for source, owed in sorted(due.items())
    }
    return {source: owed for source, owed in missing.items() if owed.is_something}


def _beyond(units: Units, known: Units) -> Units:
    """Return the part of ``units`` that exceeds ``known``."""
    return Units(max(units.amount - known.amount, 0), max(units.delta - known.delta, 0))
