"""Proposals of owners: their reasons, how long they wait, and what replaces them.

A proposal waits for a second owner for `LAPSE_DAYS`, and then lapses: it can no longer be
approved. Its entry says when. A proposal about the same thing replaces the one before it, by an
entry that withdraws the earlier one, so that two proposals to raise a cap never add up. Chains
of earlier versions have proposals that never lapse, and several about one thing; they mean what
they meant, and can be withdrawn.
"""

from collections.abc import Callable, Collection, Iterator

from sqlalchemy import bindparam, delete, select

from tacit.errors import InvalidValue
from tacit.ledger import entries as acts
from tacit.ledger.entry_words import time_text
from tacit.ledger.owner_acts import KeySet, SignInsEnded, SignInsTrusted
from tacit.ledger.owner_keys import can_sign, ends_proposal
from tacit.store import Work
from tacit.store.tables import proposals

LONGEST_REASON = 200
"""Largest number of characters of a reason."""

CAP = "cap"
"""The subject of decisions about the cap."""

LAPSE_DAYS = 30
"""Number of days for which a proposal waits for a second owner."""

LAPSE_MS = LAPSE_DAYS * 24 * 60 * 60 * 1000

_WAITING = (
    select(proposals.c.seq, proposals.c.body)
    .where(proposals.c.population == bindparam("at"))
    .order_by(proposals.c.seq)
)
_SETTLE = delete(proposals).where(
    proposals.c.population == bindparam("at"), proposals.c.seq == bindparam("place")
)


def check_reason(reason: str) -> None:
    """Raise `InvalidValue` if a reason cannot be kept in the ledger."""
    if len(reason) > LONGEST_REASON or not reason.isprintable():
        raise InvalidValue(
            f"The reason must have at most {LONGEST_REASON} printable characters, in one line."
        )


def check_reason_of_raise(reason: str) -> None:
    """Raise `InvalidValue` if no reason is given to raise a cap."""
    check_reason(reason)
    if not reason.strip():
        raise InvalidValue(
            "A larger cap weakens the guarantee of all earlier answers too, so the ledger "
            'keeps the reason. Give one: `tacit apply --reason "a second study"`.'
        )


def subject_of_decision(decision: acts.Decision) -> str:
    """Return what a decision is about: the cap, one owner, a key, or the sign-ins of a server.

    Example:
        >>> subject_of_decision(acts.OwnerAdded("omar"))
        'owner omar'
    """
    match decision:
        case acts.CapRaised():
            return CAP
        case acts.OwnerAdded() | acts.OwnerRemoved():
            return f"owner {decision.owner}"
        case SignInsTrusted() | SignInsEnded():
            return f"sign-ins {decision.key}"
        case KeySet():
            return f"key of {decision.owner}"


def has_lapsed(proposed: acts.Proposed, now: int) -> bool:
    """Return whether a proposal can no longer be approved at the time ``now``.

    Example:
        >>> proposal = acts.Proposed(acts.OwnerAdded("omar"), "olga", 5, lapses=9)
        >>> has_lapsed(proposal, 8), has_lapsed(proposal, 9)
        (False, True)
    """
    return 0 < proposed.lapses <= now


def lapse_text(proposed: acts.Proposed) -> str:
    """Return until when a proposal waits, as text; empty if it never lapses."""
    return f" until {time_text(proposed.lapses)} UTC" if proposed.lapses else ""


def waiting_acts(work: Work, population: str) -> Iterator[tuple[int, acts.Act | acts.Decision]]:
    """Yield the acts that wait for a decision, by number: proposals and requests for quotas."""
    for seq, body in work.all(_WAITING, {"at": population}):
        yield seq, acts.decode_act(body)


def open_proposals(work: Work, population: str) -> dict[int, acts.Proposed]:
    """Return the proposals that nobody has approved or withdrawn, lapsed ones too."""
    waiting = waiting_acts(work, population)
    return {seq: act for seq, act in waiting if isinstance(act, acts.Proposed)}


def waiting_within(work: Work, population: str, now: int) -> dict[int, acts.Proposed]:
    """Return the proposals that a second owner can approve at the time ``now``."""
    found = open_proposals(work, population)
    return {seq: act for seq, act in found.items() if not has_lapsed(act, now)}


def withdraw_replaced(
    work: Work,
    population: str,
    subject: str,
    signed: acts.Signature,
    write: Callable[[str, acts.Act], object],
) -> None:
    """Withdraw every open proposal about ``subject``; the chain must be locked.

    ``write`` appends an act of the owner, with its signature.
    """
    for seq, proposed in open_proposals(work, population).items():
        if subject_of_decision(proposed.decision) == subject:
            _withdraw(work, population, seq, signed, write)


def withdraw_earlier(  # noqa: PLR0913 - a decision, and how an owner acts
    work: Work,
    population: str,
    decision: acts.Decision,
    signed: acts.Signature,
    write: Callable[[str, acts.Act], object],
    *,
    owners: Collection[str],
) -> None:
    """Withdraw the open proposals that a proposal of ``decision`` replaces.

    Anybody with a shell can propose a key in the name of an owner, because the new key signs
    its own proposal. So a key replaces another one only if the signer may withdraw proposals:
    if the owner signs with the present key or a trusted sign-in, or if nothing is signed yet.
    Otherwise both wait, each with its fingerprint. Raise `InvalidValue` if the same key waits.
    """
    subject = subject_of_decision(decision)
    if not isinstance(decision, KeySet):
        withdraw_replaced(work, population, subject, signed, write)
        return
    for seq, proposed in open_proposals(work, population).items():
        if subject_of_decision(proposed.decision) != subject:
            continue
        act = acts.ProposalWithdrawn(seq, signed.by, signed.at)
        if can_sign(work, population, act, signed, owners):
            _withdraw(work, population, seq, signed, write)
        elif proposed.decision == decision and not has_lapsed(proposed, signed.at):
            raise InvalidValue(
                f"This key of {decision.owner} is proposed already, so that nothing was "
                f"recorded. Another owner runs: tacit ledger approve {population} {seq} "
                "--fingerprint FINGERPRINT"
            )


def withdraw_ended(  # noqa: PLR0913 - a decision, its place, and how an owner acts
    work: Work,
    population: str,
    decision: acts.Decision,
    signed: acts.Signature,
    write: Callable[[str, acts.Act], object],
    *,
    but: int = 0,
) -> None:
    """Withdraw every open proposal that ends with ``decision``, except the entry ``but``.

    This must be called before the decision takes effect, and the chain must be locked.
    """
    for seq, proposed in open_proposals(work, population).items():
        if seq != but and ends_proposal(decision, proposed):
            _withdraw(work, population, seq, signed, write)


def _withdraw(
    work: Work,
    population: str,
    seq: int,
    signed: acts.Signature,
    write: Callable[[str, acts.Act], object],
) -> None:
    write(population, acts.ProposalWithdrawn(seq, signed.by, signed.at))
    settle(work, population, seq)


def settle(work: Work, population: str, number: int) -> bool:
    """Remove an act from those that wait for a decision; return False if it is not there."""
    return bool(work.run(_SETTLE, {"at": population, "place": number}))
