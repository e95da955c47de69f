"""What owners do: open a budget, decide about it, limit analysts. Each act joins the chain."""

from fractions import Fraction

from sqlalchemy import bindparam, delete, insert, select

from tacit.core.budget import Budget
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.core.population import Population
from tacit.errors import Conflict, InvalidValue, NotPermitted, UnknownName
from tacit.ledger.act import (
    Approved,
    CapRaised,
    Decision,
    Declared,
    Joined,
    LeastSet,
    Opened,
    Proposed,
    QuotaSet,
)
from tacit.ledger.budget_row import BudgetRow, find_budget
from tacit.ledger.chain import ALL_TIME, append
from tacit.ledger.decide import apply, owners_of
from tacit.ledger.entry import GENESIS, Entry
from tacit.ledger.least import USUAL_SHARE, least_amount, write_least
from tacit.ledger.quota import holders_of, limit
from tacit.ledger.signature import Signature
from tacit.ledger.stored_act import decode
from tacit.ledger.units import NO_LIMIT, NO_UNITS, Units
from tacit.store.store import Store
from tacit.store.tables import budgets, members, owners, proposals
from tacit.store.work import Work

_OPEN = insert(budgets)
_ADD_OWNER = insert(owners)
_JOIN = insert(members)
_PROPOSE = insert(proposals)
_here = (proposals.c.population == bindparam("at")) & (proposals.c.seq == bindparam("place"))
_PROPOSAL = select(proposals.c.body).where(_here)
_SETTLE = delete(proposals).where(_here)


def open_budget(
    store: Store,
    population: Population,
    budget: Budget,
    owners: tuple[str, ...],
    signed: Signature,
) -> Entry:
    """Make the budget of ``population``, once: what it counts in never changes."""
    if signed.by not in owners or len(set(owners)) != len(owners):
        raise InvalidValue("A budget has distinct owners, and the one who opens it is one.")
    cap = Units.limit(budget.cap)
    act = Opened(
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
    try:
        with store.writing() as work:
            return opened(work, population.name, act)
    except Conflict as error:
        raise InvalidValue(f"{population.name!r} has a budget already.") from error


def opened(work: Work, population: str, act: Opened) -> Entry:
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
    }
    place = {"population": population, "period": ALL_TIME, "head_seq": 0, "head_hash": GENESIS}
    work.run(_OPEN, {**place, **fixed, **spending})
    for owner in act.owners:
        work.run(_ADD_OWNER, {"population": population, "owner": owner})
    return append(work, population, act)


def propose(store: Store, population: str, decision: Decision, signed: Signature) -> Entry:
    """Decide alone where the signer is the only owner; otherwise, wait for a second one.

    The entry's ``seq`` is what the second owner approves.
    """
    with store.writing() as work:
        if isinstance(decision, CapRaised):
            _check_rise(find_budget(work, population), Units(decision.amount, decision.delta))
        entry = append(work, population, Proposed(decision, signed.by, signed.at))
        if len(_owners(work, population, signed.by)) == 1:
            apply(work, population, decision)
        else:
            values = {"population": population, "seq": entry.seq, "body": entry.body}
            work.run(_PROPOSE, values)
        return entry


def approve(store: Store, population: str, proposal: int, signed: Signature) -> Entry:
    """Agree, as a second owner, to what the first one proposed."""
    with store.writing() as work:
        entry = append(work, population, Approved(proposal, signed.by, signed.at))
        owners = _owners(work, population, signed.by)
        row = work.one(_PROPOSAL, {"at": population, "place": proposal})
        if row is None:
            raise UnknownName(f"There is no proposal {proposal} that waits for an approval.")
        proposed = decode(row[0])
        if not isinstance(proposed, Proposed) or proposed.by not in owners - {signed.by}:
            raise NotPermitted(
                "A proposal is approved by another owner than the one who made it, and while "
                "both are owners."
            )
        apply(work, population, proposed.decision)
        work.run(_SETTLE, {"at": population, "place": proposal})
        return entry


def set_quota(
    store: Store, population: str, holder: str, cap: Loss, signed: Signature
) -> Entry:
    """Limit what an analyst, or a group whose name begins with @, may spend of the budget."""
    with store.writing() as work:
        if cap.measure is not find_budget(work, population).measure:
            raise InvalidValue("A quota counts in the measure of its budget.")
        units = Units.limit(cap)
        entry = append(
            work, population, QuotaSet(holder, units.amount, units.delta, signed.by, signed.at)
        )
        _owners(work, population, signed.by)
        limit(work, population, holder, units)
        return entry


def set_least(store: Store, population: str, share: Fraction, signed: Signature) -> Entry:
    """Set the least price of a question about ``population`` to a share of its cap, or to 0."""
    if not 0 <= share <= 1:
        raise InvalidValue(
            f"The least price of a question is a share of the cap from 0 to 1, not {share}."
        )
    with store.writing() as work:
        entry = append(work, population, LeastSet(str(share), signed.by, signed.at))
        _owners(work, population, signed.by)
        write_least(work, population, share)
        return entry


def join(store: Store, population: str, principal: str, group: str, signed: Signature) -> Entry:
    """Put an analyst into a group: what they spend from now on counts for both."""
    if not group.startswith("@"):
        raise InvalidValue(f"A group's name begins with @, as in @{group}.")
    with store.writing() as work:
        entry = append(work, population, Joined(principal, group, signed.by, signed.at))
        _owners(work, population, signed.by)
        if group in holders_of(work, population, principal):
            raise InvalidValue(f"{principal} is in {group} already.")
        values = {"population": population, "principal": principal, "holder": group}
        work.run(_JOIN, values)
        return entry


def declare(store: Store, population: str, facts: tuple[str, ...], signed: Signature) -> Entry:
    """Say what is publicly known of the tables, in place of what was said before."""
    with store.writing() as work:
        entry = append(work, population, Declared(facts, signed.by, signed.at))
        _owners(work, population, signed.by)
        return entry


def _check_rise(budget: BudgetRow, rise: Units) -> None:
    """Refuse a rise of a cap that is none, or of something that the budget does not count."""
    if not NO_UNITS <= rise <= NO_LIMIT or rise == NO_UNITS:
        raise InvalidValue("A cap is raised by more than nothing, and by what can be counted.")
    if rise.delta and budget.measure is Measure.PURE:
        raise InvalidValue("A budget in epsilon has no delta that could be raised.")


def _owners(work: Work, population: str, by: str) -> set[str]:
    """The owners, of whom ``by`` must be one."""
    found = owners_of(work, population)
    if by not in found:
        raise NotPermitted(f"{by} does not own the budget of {population!r}.")
    return found
