"""What a decision of the owners changes."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from tacit.errors import InvalidValue
from tacit.ledger.book import Book
from tacit.ledger.budget import follow_cap
from tacit.ledger.chain import ALL_TIME
from tacit.ledger.charge import MOST, NO_TROUBLES, NO_UNITS, Troubles, Units
from tacit.ledger.entries import CapRaised, Decision, OwnerAdded, OwnerRemoved
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


# ------------------------------------------------------------------ holding
# Which physical tables each population has or once had, and what that makes it inherit.
#
# A person's budget must not start afresh because a table got another name or moved to another
# population. So the ledger records the identities of each population's tables
# (`tacit.engines.table_identity` computes them), and keeps two rules:
#
# 1. A table belongs to one population at a time. The database's own unique index holds this.
# 2. A population that gets a table inherits what was spent under every population that ever had
#    the table. The amounts are added to what the new one has spent, as an entry in its chain.
#
# For rule 2 each chain tells apart what was spent by its *own* questions and what it
# inherited, by source. When B takes a table that A has or had, B needs A's own sum, and
# whatever A inherited from others, source by source. What B has inherited from that source
# before is subtracted, and B's own charges, should A have inherited them, are not counted
# twice. The larger of two amounts is taken where two earlier holders inherited from one
# source. Answers that were late or failed are inherited in the same way, once their owners
# have looked at them.


class Owed(NamedTuple):
    """What is inherited from one source."""

    units: Units
    troubles: Troubles

    @property
    def is_something(self) -> bool:
        """Whether there is anything to inherit."""
        return self.units != NO_UNITS or self.troubles != NO_TROUBLES

    def larger(self, other: "Owed") -> "Owed":
        """The larger of each part."""
        units = Units(
            max(self.units.amount, other.units.amount), max(self.units.delta, other.units.delta)
        )
        return Owed(units, self.troubles | other.troubles)


MOMENTARY = "inode "
"""How identities begin that mean something only while a table is there.

A file system gives the number of a deleted file to a new one. Such an identity tells two tables
of one moment apart, and says nothing about tables of the past.
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
    """The tables that ``population`` has (True) or once had (False), by identity."""
    return {identity: bool(now) for identity, now in work.all(_OF, {"at": population})}


def release_tables(work: Work, population: str, kept: Iterable[str]) -> None:
    """Record that the population has none of its tables any more but those ``kept``."""
    gone = holdings_of(work, population).keys() - set(kept)
    for identity in sorted(gone):
        work.run(_SET, {"population": population, "identity": identity, "current": 0})


def claim_tables(work: Work, population: str, tables: Iterable[str]) -> None:
    """Record that ``tables`` are the population's; `Conflict` where another still has one."""
    for identity in sorted(set(tables)):
        work.run(_SET, {"population": population, "identity": identity, "current": 1})


def other_holders(
    work: Work, population: str, tables: Iterable[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """The other populations that have one of ``tables`` now, and those that ever had one."""
    now, ever = set(), set()
    for identity in tables:
        found = work.all(_HOLDERS, {"at": population, "identity": identity})
        now |= {name for name, current in found if current}
        if not identity.startswith(MOMENTARY):
            ever |= {name for name, _ in found}
    return frozenset(now), frozenset(ever)


def with_unknown_tables(work: Work) -> frozenset[str]:
    """The populations that were charged and whose tables no entry tells of.

    Version 0.1 recorded no tables.
    """
    return frozenset(name for (name,) in work.all(_UNKNOWN, {}))


def owed_by_source(heir: Book, holders: Iterable[Book]) -> Mapping[str, Owed]:
    """What ``heir`` has to inherit because it takes tables of ``holders``, by its source."""
    due: dict[str, Owed] = {}
    for holder in holders:
        troubles = {**holder.inherited_troubles, holder.population: holder.own_troubles}
        spent = {**holder.inherited, holder.population: holder.own}
        for source in spent.keys() | troubles.keys():
            found = Owed(spent.get(source, NO_UNITS), troubles.get(source, NO_TROUBLES))
            due[source] = due[source].larger(found) if source in due else found
    due.pop(heir.population, None)
    missing = {
        source: Owed(
            _beyond(owed.units, heir.inherited.get(source, NO_UNITS)),
            owed.troubles.beyond(heir.inherited_troubles.get(source, NO_TROUBLES)),
        )
        for source, owed in sorted(due.items())
    }
    return {source: owed for source, owed in missing.items() if owed.is_something}


def _beyond(units: Units, known: Units) -> Units:
    """The part of ``units`` that is not in ``known``."""
    return Units(max(units.amount - known.amount, 0), max(units.delta - known.delta, 0))
