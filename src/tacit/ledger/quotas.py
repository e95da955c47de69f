"""Quotas and teams as owners see them, and requests of analysts for a larger quota.

A *team* is a group of analysts, whose name begins with @. A charge of a member counts for the
member and for each of their teams, and a team's quota limits all of its members together
(`tacit.ledger.budget`). Owners add and remove members.

An analyst whose quota is too small can ask for a larger one. The request is in the chain
and changes nothing. An owner grants it, with the amount that was asked for or with another one,
or declines it. An analyst has one open request for each population, so that the chain grows by
one entry for each decision of an owner, however often an analyst asks.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import bindparam, insert, select

from tacit.core import Loss
from tacit.errors import InvalidValue, UnknownName
from tacit.ledger import entries as acts
from tacit.ledger.budget import EVERYBODY, Quota, find_budget, holders_of, own_quota
from tacit.ledger.chain import append
from tacit.ledger.charge import NO_LIMIT, NO_UNITS, Units
from tacit.ledger.govern import Governing
from tacit.ledger.proposals import check_reason, settle, waiting_acts, waiting_within
from tacit.render import safe
from tacit.store import Store, Work
from tacit.store.tables import holders, members, proposals

_HOLDERS = select(
    holders.c.holder,
    holders.c.cap_amount,
    holders.c.cap_delta,
    holders.c.spent_amount,
    holders.c.spent_delta,
).where(holders.c.population == bindparam("at"))
_MEMBERS = select(members.c.holder, members.c.principal).where(
    members.c.population == bindparam("at")
)
_WAIT = insert(proposals)


# ------------------------------------------------------------------ quotas and teams


@dataclass(frozen=True, slots=True)
class HolderStatus:
    """The quota of an analyst or a team, and the sum that counts for them.

    ``holder`` is empty for the default quota of analysts. ``quota`` is None if the holder has
    no quota of their own.
    """

    holder: str
    quota: Loss | None
    spent: Loss


def quotas_of(store: Store, population: str) -> tuple[HolderStatus, ...]:
    """Return every holder with a quota or a charge, in the order of their names."""
    with store.reading() as work:
        measure = find_budget(work, population).measure
        rows = work.all(_HOLDERS, {"at": population})
    found = []
    for holder, *amounts in sorted(rows):
        cap, spent = Units(*amounts[:2]), Units(*amounts[2:])
        quota = None if cap == NO_LIMIT else cap.loss(measure)
        found.append(HolderStatus(holder, quota, spent.loss(measure)))
    return tuple(found)


def teams_of(store: Store, population: str) -> dict[str, tuple[str, ...]]:
    """Return the members of each team, in the order of their names."""
    with store.reading() as work:
        find_budget(work, population)
        rows = sorted(work.all(_MEMBERS, {"at": population}))
    return {
        team: tuple(principal for each, principal in rows if each == team)
        for team in dict.fromkeys(team for team, _ in rows)
    }


# ------------------------------------------------------------------ proposals and requests


def waiting_proposals(store: Store, population: str, now: int) -> dict[int, acts.Proposed]:
    """Return the proposals that a second owner can approve now, by their entries' numbers."""
    with store.reading() as work:
        find_budget(work, population)
        return waiting_within(work, population, now)


def request_id(population: str, body: str) -> str:
    """Return the name by which analysts know the request whose entry has the text ``body``.

    Guarantee: it depends on the request alone, and not on its place in the chain, which would
    show an analyst how many entries others have made.

    Example:
        >>> request_id("patients", "{}")
        'rd972ad21e265'
    """
    text = json.dumps(["tacit quota request 1", population, body])
    return f"r{sha256(text.encode()).hexdigest()[:12]}"


def quota_requests(store: Store, population: str) -> dict[int, acts.QuotaRequested]:
    """Return the requests that no owner has decided, by the numbers of their entries."""
    with store.reading() as work:
        find_budget(work, population)
        return dict(_requests(work, population))


def request_quota(  # noqa: PLR0913 - who asks, for whom, how much and why
    store: Store,
    population: str,
    cap: Loss,
    signed: acts.Signature,
    *,
    holder: str,
    reason: str,
) -> acts.Entry:
    """Record that an analyst asks for a quota of ``cap`` in all, for themselves or a team.

    Raise `InvalidValue` if they have an open request, or if the quota is not too small.
    """
    check_reason(reason)
    with store.writing() as work:
        budget = find_budget(work, population)
        if cap.measure is not budget.measure:
            raise InvalidValue(
                f"A quota on {population!r} must be in the measure of its budget, and not in "
                f"{cap.measure.value}. State the quota in that measure."
            )
        wanted = Units.limit(cap)
        amounts = wanted.amount, wanted.delta
        act = acts.QuotaRequested(signed.by, holder, *amounts, reason, signed.at)
        entry = append(work, population, act)  # the row is locked from here on
        _check_holder(work, population, signed.by, holder)
        for _, other in _requests(work, population):
            if other.principal == signed.by:
                raise InvalidValue(
                    f"Your request {request_id(population, acts.encode_act(other))} about "
                    f"{population!r} is still open. Wait until an owner has decided it."
                )
        _check_larger(own_quota(work, population, holder), wanted, population, holder)
        row = {"population": population, "seq": entry.seq, "body": entry.body}
        work.run(_WAIT, row)
    return entry


def grant_quota(
    owner: Governing, population: str, request: int | str, cap: Loss | None = None
) -> acts.Entry:
    """Set the quota that was asked for in ``request``, or the quota ``cap`` instead.

    ``request`` is the number of its entry, or its `request_id`.
    """
    number, asked = _find_request(owner.work, population, request)
    if cap is None:
        measure = find_budget(owner.work, population).measure
        cap = Units(asked.amount, asked.delta).loss(measure)
    entry = owner.set_quota(population, asked.holder, cap, number)
    _settle(owner.work, population, number)
    return entry


def decline_quota(owner: Governing, population: str, request: int | str) -> acts.Entry:
    """Decline the request with this number of an entry, or with this `request_id`."""
    number, _ = _find_request(owner.work, population, request)
    act = acts.QuotaDeclined(number, owner.signer, owner.now)
    entry = owner.record(population, act)
    _settle(owner.work, population, number)
    return entry


def _requests(work: Work, population: str) -> Iterator[tuple[int, acts.QuotaRequested]]:
    for seq, act in waiting_acts(work, population):
        if isinstance(act, acts.QuotaRequested):
            yield seq, act


def _find_request(
    work: Work, population: str, request: int | str
) -> tuple[int, acts.QuotaRequested]:
    for seq, act in _requests(work, population):
        if request in {seq, str(seq), request_id(population, acts.encode_act(act))}:
            return seq, act
    raise UnknownName(
        f"No request {safe(str(request))} about {population!r} waits for a decision. To see "
        f"the open requests, run `tacit quota list {population}`."
    )


def _settle(work: Work, population: str, request: int) -> None:
    if not settle(work, population, request):
        raise UnknownName(f"Another owner has already decided request {request}.")


def _check_holder(work: Work, population: str, principal: str, holder: str) -> None:
    if holder == EVERYBODY or holder not in holders_of(work, population, principal):
        raise InvalidValue(
            f"{principal} can ask for a quota of their own, or for a team that they are in, "
            f"and not for {holder}."
        )


def _check_larger(now: Quota, wanted: Units, population: str, holder: str) -> None:
    """Raise `InvalidValue` if ``holder`` does not need the quota ``wanted``."""
    if now.cap == NO_LIMIT:
        raise InvalidValue(
            f"No quota limits {holder} on {population!r}, so that a larger one changes "
            "nothing. The budget itself is raised by its owners."
        )
    if wanted == NO_UNITS or wanted <= now.cap:
        raise InvalidValue(
            f"The quota of {holder} on {population!r} is already as large. Ask for a larger "
            "one: the amount is that of the whole quota, with what was spent of it."
        )
