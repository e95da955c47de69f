"""The acts of owners: open a budget, declare tables, decide, stop charges, limit analysts.

All acts of one `Governing` happen in one unit of work: either each of them stands in its chain,
or none does. An act of somebody who does not own the budget is refused, and with it all others.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction

from sqlalchemy import bindparam, delete, insert, select, update

from tacit.core import Budget, Loss, Measure, Population
from tacit.errors import BudgetExceeded, InvalidValue, NotPermitted, UnknownName
from tacit.ledger import entries as acts
from tacit.ledger.book import Book
from tacit.ledger.budget import (
    USUAL_SHARE,
    BudgetRow,
    Status,
    find_budget,
    holders_of,
    least_amount,
    limit,
    status_within,
    write_least,
)
from tacit.ledger.chain import ALL_TIME, MARKS, append, walk
from tacit.ledger.charge import NO_LIMIT, NO_UNITS, Units
from tacit.ledger.declarations import Declaration, Numbered, declaration_in
from tacit.ledger.populations import (
    apply,
    claim_tables,
    holdings_of,
    other_holders,
    owed_by_source,
    owners_of,
    release_tables,
    with_unknown_tables,
)
from tacit.ledger.verify import verify
from tacit.store import Store, Work
from tacit.store.tables import budgets, members, owners, proposals

_OPEN = insert(budgets)
_ADD_OWNER = insert(owners)
_JOIN = insert(members)
_PROPOSE = insert(proposals)
_here = (proposals.c.population == bindparam("at")) & (proposals.c.seq == bindparam("place"))
_PROPOSAL = select(proposals.c.body).where(_here)
_SETTLE = delete(proposals).where(_here)
_budget = (budgets.c.population == bindparam("at")) & (budgets.c.period == ALL_TIME)
_DECLARE = update(budgets).where(_budget).values(declared=bindparam("number"))
_FREEZE = update(budgets).where(_budget).values(frozen=bindparam("stopped"))
_LOCK = update(budgets).where(_budget).values(frozen=budgets.c.frozen)
_INHERIT = (
    update(budgets)
    .where(
        _budget,
        budgets.c.spent_amount <= budgets.c.cap_amount - bindparam("amount"),
        budgets.c.spent_delta <= budgets.c.cap_delta - bindparam("delta"),
    )
    .values(
        spent_amount=budgets.c.spent_amount + bindparam("amount"),
        spent_delta=budgets.c.spent_delta + bindparam("delta"),
        missed=budgets.c.missed + bindparam("late"),
        failed=budgets.c.failed + bindparam("more_failed"),
        retried=budgets.c.retried + bindparam("more_retried"),
    )
)
_SEEN = update(budgets).where(_budget).values(looked=MARKS)
_POPULATIONS = select(budgets.c.population).order_by(budgets.c.population)


@contextmanager
def governing(store: Store, signed: acts.Signature) -> Iterator["Governing"]:
    """The acts of one owner in one unit of work: all of them, or none."""
    with store.writing() as work:
        yield Governing(work, signed)


class Governing:
    """The acts of one owner within a unit of work, and what the ledger holds before them."""

    def __init__(self, work: Work, signed: acts.Signature) -> None:
        self._work = work
        self._signed = signed
        self._opened: set[str] = set()

    @property
    def signer(self) -> str:
        """Who acts."""
        return self._signed.by

    # ---------------------------------------------------------- what is read before

    def owners(self, population: str) -> frozenset[str]:
        """Who owns a population's budget; nobody, where there is none."""
        return frozenset(owners_of(self._work, population))

    def lock(self) -> None:
        """Hold up every other writer about every population until this work ends."""
        for name in self.populations():
            self._work.run(_LOCK, {"at": name})

    def populations(self) -> tuple[str, ...]:
        """Whose budgets are here, in order."""
        return tuple(name for (name,) in self._work.all(_POPULATIONS, {}))

    def status(self, population: str) -> Status:
        """What is spent and left of a population's budget."""
        return status_within(self._work, population)

    def declaration(self, population: str) -> Numbered:
        """What is declared of a population now, and its number."""
        return declaration_in(self._work, population)

    def book(self, population: str) -> Book:
        """All that a population's chain adds up to."""
        return verify(population, walk(self._work, population))

    # ---------------------------------------------------------- acts

    def open_budget(
        self, population: Population, budget: Budget, owners: tuple[str, ...]
    ) -> acts.Entry:
        """Make the budget of ``population``, once: what it counts in never changes."""
        signed = self._signed
        if signed.by not in owners or len(set(owners)) != len(owners):
            raise InvalidValue("A budget has distinct owners, and the one who opens it is one.")
        cap = Units.limit(budget.cap)
        act = acts.Opened(
            unit=population.unit.name,
            neighbours=population.unit.neighbours.value,
            measure=budget.cap.measure.value,
            amount=cap.amount,
            delta=cap.delta,
            conversion_delta=str(budget.conversion_delta),
            idealised=int(budget.idealised),
            owners=owners,
            by=signed.by,
            at=signed.at,
        )
        entry = opened(self._work, population.name, act)
        self._opened.add(population.name)
        return entry

    def propose(self, population: str, decision: acts.Decision) -> acts.Entry:
        """Decide alone where the signer is the only owner; otherwise, wait for a second one.

        The entry's ``seq`` is what the second owner approves.
        """
        work, signed = self._work, self._signed
        if isinstance(decision, acts.CapRaised):
            _check_rise(find_budget(work, population), Units(decision.amount, decision.delta))
        entry = append(work, population, acts.Proposed(decision, signed.by, signed.at))
        if len(self._owners(population)) == 1:
            apply(work, population, decision)
        else:
            values = {"population": population, "seq": entry.seq, "body": entry.body}
            work.run(_PROPOSE, values)
        return entry

    def approve(self, population: str, proposal: int) -> acts.Entry:
        """Agree, as a second owner, to what the first one proposed."""
        work, signed = self._work, self._signed
        entry = append(work, population, acts.Approved(proposal, signed.by, signed.at))
        owners = self._owners(population)
        row = work.one(_PROPOSAL, {"at": population, "place": proposal})
        if row is None:
            raise UnknownName(f"There is no proposal {proposal} that waits for an approval.")
        proposed = acts.decode_act(row[0])
        if not isinstance(proposed, acts.Proposed) or proposed.by not in owners - {signed.by}:
            raise NotPermitted(
                "A proposal is approved by another owner than the one who made it, and while "
                "both are owners."
            )
        apply(work, population, proposed.decision)
        work.run(_SETTLE, {"at": population, "place": proposal})
        return entry

    def set_quota(self, population: str, holder: str, cap: Loss) -> acts.Entry:
        """Limit what an analyst, or a group whose name begins with @, may spend."""
        if cap.measure is not find_budget(self._work, population).measure:
            raise InvalidValue("A quota counts in the measure of its budget.")
        units, signed = Units.limit(cap), self._signed
        act = acts.QuotaSet(holder, units.amount, units.delta, signed.by, signed.at)
        entry = self._append(population, act)
        limit(self._work, population, holder, units)
        return entry

    def set_least(self, population: str, share: Fraction) -> acts.Entry:
        """Set the least price of a question to a share of the population's cap, or to 0."""
        if not 0 <= share <= 1:
            raise InvalidValue(
                f"The least price of a question is a share of the cap from 0 to 1, not {share}."
            )
        entry = self._append(
            population, acts.LeastSet(str(share), self._signed.by, self._signed.at)
        )
        write_least(self._work, population, share)
        return entry

    def join(self, population: str, principal: str, group: str) -> acts.Entry:
        """Put an analyst into a group: what they spend from now on counts for both."""
        if not group.startswith("@"):
            raise InvalidValue(f"A group's name begins with @, as in @{group}.")
        act = acts.Joined(principal, group, self._signed.by, self._signed.at)
        entry = self._append(population, act)
        if group in holders_of(self._work, population, principal):
            raise InvalidValue(f"{principal} is in {group} already.")
        values = {"population": population, "principal": principal, "holder": group}
        self._work.run(_JOIN, values)
        return entry

    def freeze(self, population: str) -> acts.Entry:
        """Stop all charges about a population, at every server that shares this store.

        Guarantee: once the work has ended, nothing is charged before an owner thaws it.
        """
        entry = self._append(population, acts.Frozen(self._signed.by, self._signed.at))
        if find_budget(self._work, population).frozen:
            raise InvalidValue(f"All charges about {population!r} are stopped already.")
        self._work.run(_FREEZE, {"at": population, "stopped": 1})
        return entry

    def thaw(self, population: str) -> acts.Entry:
        """Allow charges about a population again."""
        entry = self._append(population, acts.Thawed(self._signed.by, self._signed.at))
        if not find_budget(self._work, population).frozen:
            raise InvalidValue(f"Charges about {population!r} are not stopped.")
        self._work.run(_FREEZE, {"at": population, "stopped": 0})
        return entry

    def declare(self, declarations: Mapping[str, Declaration]) -> dict[str, acts.Entry]:
        """Declare the tables of these populations, each in place of what was declared before.

        All are declared together, because a table that moves leaves one population and joins
        another. Each population inherits what was spent under those that had its new tables.

        Guarantee: once the work has ended, nothing is charged under an earlier declaration.
        """
        entries, before = {}, {}
        # as it is before anybody gives up a table: an inode tells tables of one moment apart
        held = {
            name: other_holders(self._work, name, said.tables)[0]
            for name, said in declarations.items()
        }
        for name, said in sorted(declarations.items()):
            act = acts.Described(said.facts, said.tables, self._signed.by, self._signed.at)
            entries[name] = self._append(name, act)
            self._work.run(_DECLARE, {"at": name, "number": entries[name].seq})
            before[name] = {t for t, now in holdings_of(self._work, name).items() if now}
            release_tables(self._work, name, said.tables)
        for name, said in sorted(declarations.items()):
            new = set(said.tables) - before[name]
            if new:
                self._take(name, new, held[name])
        return entries

    # ---------------------------------------------------------- tables that change hands

    def _take(self, population: str, tables: set[str], held: frozenset[str]) -> None:
        """Make ``tables`` the population's, with all that was ever spent on their people.

        Some of them were ``held`` by other populations when the work began.
        """
        now, ever = other_holders(self._work, population, tables)
        if now:
            other = min(now)
            raise InvalidValue(
                f"A table of {population!r} belongs to the population {other!r}, whose budget "
                f"its people already have. One table belongs to one population: declare it "
                f"under {other!r}, or let an owner of {other!r} take it out there first."
            )
        unknown = with_unknown_tables(self._work) - {population}
        if unknown and population in self._opened:
            raise InvalidValue(
                f"The tables of {min(unknown)!r} are not recorded, and {population!r} might "
                f"have the same. Declare {min(unknown)!r} first, with the tables that it was "
                "charged for: by `tacit apply`, or by opening it once more."
            )
        claim_tables(self._work, population, tables)
        if ever | held:
            self._inherit(population, ever | held)

    def _inherit(self, population: str, holders: frozenset[str]) -> None:
        """Charge the population with what was spent under ``holders``."""
        row = find_budget(self._work, population)
        for name in sorted(holders):
            _check_heir(row, find_budget(self._work, name), population, name)
        heir, signed = self.book(population), self._signed
        books = [self.book(name) for name in sorted(holders)]
        all_seen = heir.looked == heir.marks
        for source, (units, troubles) in owed_by_source(heir, books).items():
            late, failed, retried = troubles
            more = {"late": late, "more_failed": failed, "more_retried": retried}
            amounts = {"at": population, "amount": units.amount, "delta": units.delta}
            if not self._work.run(_INHERIT, amounts | more):
                cap, due = row.cap.loss(row.measure), units.loss(row.measure)
                raise BudgetExceeded(
                    f"The tables of {population!r} belonged to {source!r}, under which {due} "
                    f"was spent on the same people. That does not fit into the budget of "
                    f"{population!r}, {cap}: give it a larger one."
                )
            if all_seen:
                self._work.run(_SEEN, {"at": population})
            spent = (source, units.amount, units.delta, signed.by, signed.at)
            self._append(population, acts.Inherited(*spent, late, failed, retried))

    def _append(self, population: str, act: acts.Act) -> acts.Entry:
        """The entry of an act that only an owner may do."""
        entry = append(self._work, population, act)
        self._owners(population)  # read once the row is ours, so that it is not out of date
        return entry

    def _owners(self, population: str) -> set[str]:
        """The owners, of whom the signer must be one."""
        found = owners_of(self._work, population)
        if self._signed.by not in found:
            raise NotPermitted(f"{self._signed.by} does not own the budget of {population!r}.")
        return found


def opened(work: Work, population: str, act: acts.Opened) -> acts.Entry:
    """The first entry of a chain, and the rows that it makes."""
    fixed = {
        "unit": act.unit,
        "neighbours": act.neighbours,
        "measure": act.measure,
        "conversion_delta": act.conversion_delta,
        "idealised": act.idealised,
    }
    spending = {
        "cap_amount": act.amount,
        "cap_delta": act.delta,
        "spent_amount": NO_UNITS.amount,
        "spent_delta": NO_UNITS.delta,
        "missed": 0,
        "looked": 0,
        "failed": 0,
        "retried": 0,
        "least_share": str(USUAL_SHARE),
        "least_amount": least_amount(act.amount, USUAL_SHARE),
        "declared": 0,
        "frozen": 0,
    }
    place = {
        "population": population,
        "period": ALL_TIME,
        "head_seq": 0,
        "head_hash": acts.GENESIS,
    }
    work.run(_OPEN, {**place, **fixed, **spending})
    for owner in act.owners:
        work.run(_ADD_OWNER, {"population": population, "owner": owner})
    return append(work, population, act)


def _check_heir(heir: BudgetRow, holder: BudgetRow, population: str, other: str) -> None:
    """Refuse to move tables where charges of ``other`` cannot be counted, or are stopped."""
    if (heir.unit, heir.neighbours, heir.kind) != (holder.unit, holder.neighbours, holder.kind):
        raise InvalidValue(
            f"The tables of {population!r} belonged to {other!r}, and what was spent there "
            f"counts here. It cannot be counted, because {other!r} has another unit, "
            f"neighbours or measure: give {population!r} those of {other!r}."
        )
    if holder.idealised and not heir.idealised:
        raise InvalidValue(
            f"The tables of {population!r} belonged to {other!r}, whose budget allows "
            "idealised noise; this one has to allow it too."
        )
    if holder.frozen or holder.locked:
        raise InvalidValue(
            f"The tables of {population!r} belonged to {other!r}, about which no charge is "
            f"made now. An owner of {other!r} has to look or thaw first."
        )


def _check_rise(budget: BudgetRow, rise: Units) -> None:
    """Refuse a rise of a cap that is none, or of something that the budget does not count."""
    if not NO_UNITS <= rise <= NO_LIMIT or rise == NO_UNITS:
        raise InvalidValue("A cap is raised by more than nothing, and by what can be counted.")
    if rise.delta and budget.measure is Measure.PURE:
        raise InvalidValue("A budget in epsilon has no delta that could be raised.")
