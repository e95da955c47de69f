"""Governance: owners open budgets, declare tables, decide changes, stop charges, set quotas.

All acts of one `Governing` happen in one unit of work: either all of them are recorded in their
chains, or none is. If the signer does not own one of the budgets, all acts are refused.

A table that moves to another population takes its history along: the new population inherits
the loss that was spent on the same people (`Governing.declare`, `tacit.ledger.populations`).
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
    EVERYBODY,
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
from tacit.ledger.chain import ALL_TIME, MARKS, append, hold
from tacit.ledger.charge import LONGEST_NAME, NO_LIMIT, NO_UNITS, Units, is_name
from tacit.ledger.checkpoints import compare_signers, current_book
from tacit.ledger.declarations import (
    Declaration,
    Numbered,
    declaration_in,
    epochs_in,
    follow_epochs,
    write_epochs,
)
from tacit.ledger.owner_keys import attest, check_signed
from tacit.ledger.populations import (
    apply,
    claim_tables,
    holdings_of,
    lower_cap,
    other_holders,
    owed_by_source,
    owners_of,
    release_tables,
    with_unknown_tables,
)
from tacit.ledger.proposals import (
    CAP,
    LAPSE_MS,
    check_reason,
    check_reason_of_raise,
    has_lapsed,
    lapse_text,
    open_proposals,
    settle,
    waiting_within,
    withdraw_earlier,
    withdraw_ended,
    withdraw_replaced,
)
from tacit.store import SigningKey, Store, Work
from tacit.store.tables import budgets, members, owners, proposals

_OPEN = insert(budgets)
_ADD_OWNER = insert(owners)
_JOIN = insert(members)
_LEAVE = delete(members).where(
    members.c.population == bindparam("at"),
    members.c.principal == bindparam("who"),
    members.c.holder == bindparam("group"),
)
_PROPOSE = insert(proposals)
_here = (proposals.c.population == bindparam("at")) & (proposals.c.seq == bindparam("place"))
_PROPOSAL = select(proposals.c.body).where(_here)
_NO_PROPOSAL = (
    "No proposal of {!r} with the number {} waits for approval. The number is that of the "
    "ledger entry with the proposal."
)
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
def governing(
    store: Store, signed: acts.Signature, key: SigningKey | None = None
) -> Iterator["Governing"]:
    """Open a unit of work for the acts of one owner: all of them are recorded, or none.

    Chains are read from the newest checkpoints that ``key`` signed.
    """
    with store.writing() as work:
        yield Governing(work, signed, key)


class Governing:
    """The acts of one owner within a unit of work, and the state of the ledger before them."""

    def __init__(
        self, work: Work, signed: acts.Signature, key: SigningKey | None = None
    ) -> None:
        self._work = work
        self._signed = signed
        self._key = key
        self._opened: set[str] = set()
        self._compared: set[str] = set()
        """Populations whose table of keys was compared with the chain in this work."""

    @property
    def work(self) -> Work:
        """The unit of work in which the acts are recorded."""
        return self._work

    @property
    def signer(self) -> str:
        """The name of the owner who acts."""
        return self._signed.by

    @property
    def now(self) -> int:
        """The time of the acts."""
        return self._signed.at

    # ---------------------------------------------------------- state before the acts

    def owners(self, population: str) -> frozenset[str]:
        """Return the owners of a population's budget; the empty set if there is no budget."""
        return frozenset(owners_of(self._work, population))

    def lock(self) -> None:
        """Lock the budgets of all populations against other writers until this work ends."""
        for name in self.populations():
            self._work.run(_LOCK, {"at": name})

    def populations(self) -> tuple[str, ...]:
        """Return the names of all populations that have a budget, in order."""
        return tuple(name for (name,) in self._work.all(_POPULATIONS, {}))

    def status(self, population: str) -> Status:
        """Return what is spent and left of a population's budget."""
        return status_within(self._work, population)

    def declaration(self, population: str) -> Numbered:
        """Return the current declaration of a population, with its number."""
        return declaration_in(self._work, population)

    def waiting_proposals(self, population: str) -> dict[int, acts.Proposed]:
        """Return the proposals that wait for a second owner, by number."""
        return waiting_within(self._work, population, self._signed.at)

    def current_book(self, population: str) -> Book:
        """Verify a chain from its newest checkpoint, and return what it adds up to."""
        return current_book(self._work, population, self._key)

    # ---------------------------------------------------------- acts

    def open_budget(
        self, population: Population, budget: Budget, owners: tuple[str, ...]
    ) -> acts.Entry:
        """Open the budget of ``population``, which is possible once. Its measure is final."""
        signed = self._signed
        if signed.by not in owners or len(set(owners)) != len(owners):
            raise InvalidValue(
                "The owners of a budget must be distinct, and the person who opens the budget "
                "must be one of them."
            )
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
        entry = write_opening(self._work, population.name, act)
        self._opened.add(population.name)
        return entry

    def propose(self, population: str, decision: acts.Decision) -> acts.Entry:
        """Propose a decision. It takes effect at once if the signer is the only owner.

        Otherwise a second owner must approve it, by the ``seq`` of the returned entry, before
        it lapses. It replaces an earlier proposal about the same thing, which is withdrawn.
        """
        work, signed = self._work, self._signed
        if isinstance(decision, acts.CapRaised):
            _check_rise(find_budget(work, population), Units(decision.amount, decision.delta))
            check_reason_of_raise(decision.reason)
        hold(work, population)
        owners = self._owners(population)
        alone = len(owners) == 1
        place = work, population, decision, signed, self._append
        withdraw_earlier(*place, owners=owners)
        lapses = 0 if alone else signed.at + LAPSE_MS
        act = acts.Proposed(decision, signed.by, signed.at, lapses)
        if alone:
            withdraw_ended(*place)
        entry = self._append(population, act)
        if alone:
            apply(work, population, decision, entry.seq)
        else:
            values = {"population": population, "seq": entry.seq, "body": entry.body}
            work.run(_PROPOSE, values)
        return entry

    def approve(self, population: str, proposal: int) -> acts.Entry:
        """Approve, as a second owner, the proposal in entry ``proposal``."""
        work, signed = self._work, self._signed
        hold(work, population)
        owners = self._owners(population)
        row = work.one(_PROPOSAL, {"at": population, "place": proposal})
        proposed = None if row is None else acts.decode_act(row[0])
        if isinstance(proposed, acts.Proposed):
            decision = proposed.decision
            withdraw_ended(work, population, decision, signed, self._append, but=proposal)
        entry = self._append(population, acts.Approved(proposal, signed.by, signed.at))
        if not isinstance(proposed, acts.Proposed):
            raise UnknownName(_NO_PROPOSAL.format(population, proposal))
        if proposed.by not in owners - {signed.by}:
            raise NotPermitted(
                "A proposal must be approved by another owner than the one who made it, and "
                "both must still be owners."
            )
        if has_lapsed(proposed, signed.at):
            raise InvalidValue(
                f"The proposal {proposal} of {population!r} waited{lapse_text(proposed)} and "
                "has lapsed. Propose it again: run `tacit apply`."
            )
        check_signed(work, population, proposal, proposed)
        apply(work, population, proposed.decision, entry.seq)
        settle(work, population, proposal)
        return entry

    def withdraw(self, population: str, proposal: int) -> acts.Entry:
        """Withdraw, as any owner, the proposal in entry ``proposal``."""
        act = acts.ProposalWithdrawn(proposal, self._signed.by, self._signed.at)
        entry = self._append(population, act)
        if proposal not in open_proposals(self._work, population):
            raise UnknownName(_NO_PROPOSAL.format(population, proposal))
        settle(self._work, population, proposal)
        return entry

    def lower_cap(self, population: str, cap: Loss, reason: str = "") -> acts.Entry:
        """Lower a cap to ``cap``, at once: it restricts what may be charged, as a freeze does.

        A proposal to raise the cap is withdrawn with it.

        Guarantee: the cap is not below what is spent, whatever is charged meanwhile.
        """
        work, signed = self._work, self._signed
        check_reason(reason)
        lower = self._cap_units(population, cap)
        hold(work, population)
        self._owners(population)
        withdraw_replaced(work, population, CAP, signed, self._append)
        amounts = lower.amount, lower.delta
        act = acts.CapLowered(*amounts, reason, signed.by, signed.at)
        entry = self._append(population, act)
        before = find_budget(work, population)
        if lower == before.cap or not lower_cap(work, population, lower):
            raise InvalidValue(
                f"The cap of {population!r} is {before.show(before.cap)}, and "
                f"{before.show(before.spent)} is spent. It can be lowered to an amount between "
                "them, and not below what is spent: no charge is ever given back."
            )
        return entry

    def set_quota(
        self, population: str, holder: str, cap: Loss, request: int = 0
    ) -> acts.Entry:
        """Set the quota of an analyst, or of a group whose name begins with @.

        ``request`` is the number of the request that this grants, if there was one.
        """
        if not (is_name(holder) and is_name(holder.removeprefix("@"))):
            raise InvalidValue(
                f"A quota belongs to an analyst or a group, whose name has 1 to {LONGEST_NAME} "
                "printable characters, in the normal form NFC and without spaces around them."
            )
        units, signed = self._quota_units(population, cap), self._signed
        act = acts.QuotaSet(holder, units.amount, units.delta, signed.by, signed.at, request)
        entry = self._append(population, act)
        limit(self._work, population, holder, units)
        return entry

    def set_default_quota(self, population: str, cap: Loss) -> acts.Entry:
        """Set the quota of every analyst who has none of their own."""
        units, signed = self._quota_units(population, cap), self._signed
        act = acts.DefaultQuotaSet(units.amount, units.delta, signed.by, signed.at)
        entry = self._append(population, act)
        limit(self._work, population, EVERYBODY, units)
        return entry

    def _cap_units(self, population: str, cap: Loss) -> Units:
        """Return a cap in units; refuse another measure than that of the budget."""
        if cap.measure is not find_budget(self._work, population).measure:
            raise InvalidValue(
                f"The cap of {population!r} must be lowered in the measure of its budget, and "
                f"not in {cap.measure.value}. State the amount in that measure."
            )
        return Units.limit(cap)

    def _quota_units(self, population: str, cap: Loss) -> Units:
        """Return a quota in units; refuse another measure than that of the budget."""
        if cap.measure is not find_budget(self._work, population).measure:
            raise InvalidValue(
                f"A quota on {population!r} must be in the measure of its budget, and not in "
                f"{cap.measure.value}. State the quota in that measure."
            )
        return Units.limit(cap)

    def set_least(self, population: str, share: Fraction) -> acts.Entry:
        """Set the least price of a question to a share of the population's cap, or to 0."""
        if not 0 <= share <= 1:
            raise InvalidValue(
                "The least price of a question must be a share of the cap from 0 to 1, and not "
                f"{share}."
            )
        entry = self._append(
            population, acts.LeastSet(str(share), self._signed.by, self._signed.at)
        )
        write_least(self._work, population, share)
        return entry

    def join(self, population: str, principal: str, group: str) -> acts.Entry:
        """Add an analyst to a group. The analyst's later charges count for both."""
        _check_member(principal, group)
        act = acts.Joined(principal, group, self._signed.by, self._signed.at)
        entry = self._append(population, act)
        if group in holders_of(self._work, population, principal):
            raise InvalidValue(
                f"{principal} is already in the team {group}, so nothing was changed."
            )
        values = {"population": population, "principal": principal, "holder": group}
        self._work.run(_JOIN, values)
        return entry

    def record(self, population: str, act: acts.Act) -> acts.Entry:
        """Record an act of the signer that changes nothing but the chain."""
        return self._append(population, act)

    def leave(self, population: str, principal: str, group: str) -> acts.Entry:
        """Remove an analyst from a group. The group keeps the sum of the earlier charges."""
        act = acts.MemberRemoved(principal, group, self._signed.by, self._signed.at)
        entry = self._append(population, act)
        values = {"at": population, "who": principal, "group": group}
        if not self._work.run(_LEAVE, values):
            raise InvalidValue(f"{principal} is not in the team {group}.")
        return entry

    def freeze(self, population: str) -> acts.Entry:
        """Stop all charges about a population, at every server that shares this store.

        Guarantee: once the work has ended, nothing is charged until an owner allows it again.
        """
        entry = self._append(population, acts.Frozen(self._signed.by, self._signed.at))
        if find_budget(self._work, population).frozen:
            raise InvalidValue(
                f"All charges about {population!r} are already stopped. To allow them again, "
                f"run `tacit thaw {population}`."
            )
        self._work.run(_FREEZE, {"at": population, "stopped": 1})
        return entry

    def thaw(self, population: str) -> acts.Entry:
        """Allow charges about a population again."""
        entry = self._append(population, acts.Thawed(self._signed.by, self._signed.at))
        if not find_budget(self._work, population).frozen:
            raise InvalidValue(
                f"Charges about {population!r} are not stopped, so nothing was changed."
            )
        self._work.run(_FREEZE, {"at": population, "stopped": 0})
        return entry

    def declare(self, declarations: Mapping[str, Declaration]) -> dict[str, acts.Entry]:
        """Declare the tables of these populations, and replace their earlier declarations.

        All are declared together, because a table that moves leaves one population and joins
        another. A population inherits the loss that was spent under each population that had
        one of its new tables.

        Guarantee: once the work has ended, nothing is charged under an earlier declaration.
        """
        entries, before = {}, {}
        # Read before any population gives up a table. The identity of a file may be its inode,
        # which distinguishes tables only while they exist (`MOMENTARY`).
        held = {
            name: other_holders(self._work, name, said.tables)[0]
            for name, said in declarations.items()
        }
        for name, said in sorted(declarations.items()):
            signed, number = self._signed, find_budget(self._work, name).declared
            times = epochs_in(self._work, name, number)
            since = write_epochs(follow_epochs(times, said.facts, signed.at))
            act = acts.Described(said.facts, said.tables, signed.by, signed.at, since)
            entries[name] = self._append(name, act)
            self._work.run(_DECLARE, {"at": name, "number": entries[name].seq})
            before[name] = {t for t, now in holdings_of(self._work, name).items() if now}
            release_tables(self._work, name, said.tables)
        for name, said in sorted(declarations.items()):
            new = set(said.tables) - before[name]
            if new:
                self._take(name, new, held[name])
        return entries

    # ---------------------------------------------------------- tables that move

    def _take(self, population: str, tables: set[str], held: frozenset[str]) -> None:
        """Give ``tables`` to the population, with the loss ever spent on their people.

        ``held`` are the other populations that had one of the tables when the work began.
        """
        now, ever = other_holders(self._work, population, tables)
        if now:
            other = min(now)
            raise InvalidValue(
                f"A table of {population!r} already belongs to the population {other!r} and is "
                f"charged to its budget. One table belongs to one population: declare it under "
                f"{other!r}, or let an owner of {other!r} remove it there first."
            )
        unknown = with_unknown_tables(self._work) - {population}
        if unknown and population in self._opened:
            raise InvalidValue(
                f"The ledger does not know the tables of {min(unknown)!r}, and {population!r} "
                f"might have the same tables. First declare {min(unknown)!r} with the tables "
                "that it was charged for: run `tacit apply`, or open it again."
            )
        claim_tables(self._work, population, tables)
        if ever | held:
            self._inherit(population, ever | held)

    def _inherit(self, population: str, holders: frozenset[str]) -> None:
        """Charge the population with the loss that was spent under ``holders``."""
        row = find_budget(self._work, population)
        for name in sorted(holders):
            _check_heir(row, find_budget(self._work, name), population, name)
        heir, signed = self.current_book(population), self._signed
        books = [self.current_book(name) for name in sorted(holders)]
        all_seen = heir.looked == heir.marks
        for source, (units, troubles) in owed_by_source(heir, books).items():
            late, failed, retried = troubles
            more = {"late": late, "more_failed": failed, "more_retried": retried}
            amounts = {"at": population, "amount": units.amount, "delta": units.delta}
            if not self._work.run(_INHERIT, amounts | more):
                cap, due = row.show(row.cap), row.show(units)
                raise BudgetExceeded(
                    f"The tables of {population!r} belonged to {source!r}, under which {due} "
                    f"was spent on the same people. This does not fit into the budget of "
                    f"{population!r}, which is {cap}. Set a larger budget."
                )
            if all_seen:
                self._work.run(_SEEN, {"at": population})
            spent = (source, units.amount, units.delta, signed.by, signed.at)
            self._append(population, acts.Inherited(*spent, late, failed, retried))

    def _append(self, population: str, act: acts.Act) -> acts.Entry:
        """Append the entry of an act that only an owner may do, and its signature."""
        self._compare_keys(population, act)
        entry = append(self._work, population, act)
        owners = self._owners(population)  # after the row is locked, so it is up to date
        attest(self._work, entry, act, self._signed, owners)
        return entry

    def _compare_keys(self, population: str, act: acts.Act) -> None:
        """Compare the keys before the first act about a population (`compare_signers`).

        A freeze needs no signature, and is recorded whatever is wrong.
        """
        if population not in self._compared and not isinstance(act, acts.Frozen):
            compare_signers(self._work, population, self._key)
            self._compared.add(population)

    def _owners(self, population: str) -> set[str]:
        """Return the owners; raise `NotPermitted` if the signer is not one of them."""
        found = owners_of(self._work, population)
        if self._signed.by not in found:
            raise NotPermitted(
                f"{self._signed.by} does not own the budget of {population!r}, so nothing was "
                "recorded. Ask one of its owners."
            )
        return found


def write_opening(work: Work, population: str, act: acts.Opened) -> acts.Entry:
    """Write the first entry of a chain, and the rows of the new budget."""
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
    """Raise `InvalidValue` if the charges of ``other`` cannot be inherited."""
    if (heir.unit, heir.neighbours, heir.kind) != (holder.unit, holder.neighbours, holder.kind):
        raise InvalidValue(
            f"The tables of {population!r} belonged to {other!r}, and the loss spent there "
            f"counts here too. It cannot be counted, because {other!r} has another privacy "
            f"unit, neighbours or measure. Declare {population!r} with those of {other!r}."
        )
    if holder.idealised and not heir.idealised:
        raise InvalidValue(
            f"The tables of {population!r} belonged to {other!r}, whose budget allows "
            f"idealised noise. The budget of {population!r} must allow it too."
        )
    if holder.frozen or holder.locked:
        raise InvalidValue(
            f"The tables of {population!r} belonged to {other!r}, whose charges are stopped. "
            f"An owner of {other!r} must first run `tacit ledger look {other}` or "
            f"`tacit thaw {other}`."
        )


def _check_member(principal: str, group: str) -> None:
    """Raise `InvalidValue` if one of the names cannot be that of an analyst or a group."""
    if not group.startswith("@"):
        raise InvalidValue(f"The name of a team must begin with @, as in @{group}.")
    for name in (principal, group.removeprefix("@")):
        if not is_name(name) or name.startswith("@") or len(group) > LONGEST_NAME:
            raise InvalidValue(
                f"The names of an analyst and of a team must have 1 to {LONGEST_NAME} "
                "printable characters, in the normal form NFC and without spaces around them, "
                "and only that of a team begins with @."
            )


def _check_rise(budget: BudgetRow, rise: Units) -> None:
    """Raise `InvalidValue` if a cap cannot be raised by ``rise``."""
    if not NO_UNITS <= rise <= NO_LIMIT or rise == NO_UNITS:
        raise InvalidValue(
            "A cap must be raised by an amount above 0, and by no more than the largest amount "
            "that a ledger can store."
        )
    if rise.delta and budget.measure is Measure.PURE:
        raise InvalidValue(
            "A budget in pure epsilon has no delta. Raise its epsilon only, with a delta of 0."
        )
