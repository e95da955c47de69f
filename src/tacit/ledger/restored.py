"""An honest restore: an owner charges what an old copy of the ledger has forgotten.

A backup lacks the charges that were made after it, although their answers have left. The newest
anchor says what had been spent when it was written. So an owner charges the difference between
that sum and the sum of the restored ledger, as an act that names the lost entry. From then on
the anchor is satisfied, and the sum of charges is at least what it was.

The difference does not contain charges after the newest anchor: at most 100 of each process, or
those of 10 seconds (`tacit.ledger.anchor_keeper`). Quotas of analysts are not part
of an anchor, so that each analyst's own sum is that of the backup.
"""

from dataclasses import dataclass

from sqlalchemy import bindparam, select, update

from tacit.errors import BudgetExceeded, InvalidValue, NotPermitted
from tacit.ledger.anchor_places import SET_AGAIN
from tacit.ledger.anchored_keys import known_keys, last_charge_at, lost_keys
from tacit.ledger.budget import find_budget
from tacit.ledger.chain import ALL_TIME, Anchor, Head, append, hold
from tacit.ledger.chain_acts import Restored
from tacit.ledger.charge import NO_UNITS, Units
from tacit.ledger.checkpoints import compare_signers
from tacit.ledger.entries import Signature
from tacit.ledger.owner_keys import attest
from tacit.ledger.populations import owners_of
from tacit.store import ANCHOR, Seen, SigningKey, Store, Work, missing_entry
from tacit.store.tables import budgets

_POPULATIONS = select(budgets.c.population)
_CHARGE = (
    update(budgets)
    .where(
        budgets.c.population == bindparam("at"),
        budgets.c.period == ALL_TIME,
        budgets.c.spent_amount <= budgets.c.cap_amount - bindparam("amount"),
        budgets.c.spent_delta <= budgets.c.cap_delta - bindparam("delta"),
    )
    .values(
        spent_amount=budgets.c.spent_amount + bindparam("amount"),
        spent_delta=budgets.c.spent_delta + bindparam("delta"),
    )
)


@dataclass(frozen=True, slots=True)
class Difference:
    """The loss that an owner charged for the lost entries of one population."""

    population: str
    place: int
    """Number of the anchored entry that is lost."""
    amount: str
    """The loss that was charged, as people read it."""


def charge_difference(
    store: Store, anchor: Anchor, signed: Signature, key: SigningKey | None = None
) -> tuple[Difference, ...]:
    """Charge the difference between ``anchor`` and ``store`` for the signer's populations.

    Raise `NotPermitted` if entries are lost and the signer owns none of their populations. With
    the ``key`` of checkpoints, the keys of owners are compared with the chains.

    Guarantee: afterwards the sum of charges of each of these populations is at least the
    anchored one, in one unit of work, and the chain records the act.
    """
    found, others = [], []
    with store.writing() as work:
        known = {name for (name,) in work.all(_POPULATIONS, {})}
        for head in anchor.heads:
            if head.population not in known:
                raise InvalidValue(
                    f"This ledger has no budget of {head.population!r}, which was anchored. "
                    "Restore a copy or an export of it, and then charge the difference. "
                    "Without any copy, take [anchors] out of the project file, run `tacit "
                    "apply`, and charge the difference to the anchors by --anchors."
                )
            hold(work, head.population)
            if missing_entry(work, _as_seen(head), ANCHOR) is None:
                continue
            if signed.by not in owners_of(work, head.population):
                others.append(head.population)
                continue
            compare_signers(work, head.population, key)
            _check_keys(work, head)
            found.append(_charge(work, head, anchor.at, signed))
        if others and not found:
            raise NotPermitted(
                f"{signed.by} does not own the budget of {', '.join(map(repr, others))}, and "
                "nothing was recorded. Ask one of its owners."
            )
    return tuple(found)


def _as_seen(head: Head) -> Seen:
    return Seen(head.population, head.seq, head.hash, head.first)


def _charge(work: Work, head: Head, anchored_at: int, signed: Signature) -> Difference:
    name, budget = head.population, find_budget(work, head.population)
    if head.spent is None:
        raise InvalidValue(
            "This anchor was written by version 0.1 and has no sums, so that the difference "
            "is not known. Name an anchor of a later version."
        )
    _check_unused(work, head, anchored_at)
    cost = Units(
        max(head.spent.amount - budget.spent.amount, 0),
        max(head.spent.delta - budget.spent.delta, 0),
    )
    if cost != NO_UNITS and not work.run(
        _CHARGE, {"at": name, "amount": cost.amount, "delta": cost.delta}
    ):
        raise BudgetExceeded(
            f"{budget.show(cost)} was spent under {name!r} after this copy was made. It does "
            f"not fit into its cap of {budget.show(budget.cap)}. The cap was raised in what is "
            "lost: raise it again, and then charge the difference."
        )
    act = Restored(head.seq, head.hash.hex(), cost.amount, cost.delta, signed.by, signed.at)
    attest(work, append(work, name, act), act, signed, owners_of(work, name))
    return Difference(name, head.seq, budget.show(cost))


def _check_keys(work: Work, head: Head) -> None:
    """Refuse a copy from before an owner's key: an act without it would satisfy the anchor."""
    known = known_keys(work, head.population) if head.keys else ()
    lost = lost_keys(head.population, head.signed, head.keys, known)
    if lost is not None:
        raise InvalidValue(
            f"The difference cannot be charged: {lost}. {SET_AGAIN}. Where .tacit/heads is "
            "newer than the copy, move it aside too. Then charge the difference."
        )


def _check_unused(work: Work, head: Head, anchored_at: int) -> None:
    """Refuse a copy that was charged after it was restored: the difference is then larger.

    No charge that is in an anchor is later than it (`time_of_anchor`), so that a charge at the
    same time was made before it. The mark in a ledger's folder has no time, and nothing is
    known then.
    """
    name = head.population
    if anchored_at and last_charge_at(work, name) > anchored_at:
        raise InvalidValue(
            "This copy was used after the newest anchor was written, so that the difference of "
            f"{name!r} is not known. Restore the backup once more, and charge the difference "
            "before anything else."
        )
