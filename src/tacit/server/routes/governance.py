"""Routes for what owners decide: proposals, quotas, teams and requests for a larger quota.

An owner acts with their own sign-in or token, and the entry in the chain names them. A raise of
the cap needs a second owner who signs in as well: a token of another owner cannot be issued
over HTTP. The project file proposes a raise, and every declaration about tables.
"""

from typing import Annotated, Any

from fastapi import Path
from pydantic import Field

from tacit.accounting import to_approximate_dp
from tacit.core import Loss, encode_loss
from tacit.errors import InvalidValue
from tacit.ledger import (
    LONGEST_NAME,
    LONGEST_REASON,
    AmountTexts,
    HolderStatus,
    KeySet,
    SignInsEnded,
    SignInsTrusted,
    Units,
    check_fingerprint,
    entries,
    request_id,
)
from tacit.numeric import exact
from tacit.project import Allowance
from tacit.server.guarded_route import new_router, open_to
from tacit.server.messages import Amount, Calling, Door, Sent
from tacit.server.token_policy import Role
from tacit.session import Session, quota_of

router = new_router()

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Number = Annotated[int, Path(ge=1, le=2**62)]
RequestName = Annotated[str, Path(pattern="^([1-9][0-9]{0,18}|r[0-9a-f]{12})$")]
"""A request for a quota: its `id`, or the number of its entry."""


class QuotaAmount(Sent):
    """The amount of a quota: an epsilon or a rho, with a delta that defaults to the cap's."""

    epsilon: Amount | None = None
    rho: Amount | None = None
    delta: Amount = 0

    def loss_in(self, session: Session, population: str) -> Loss:
        """Return the amount in the measure of the population's budget."""
        if (self.epsilon is None) == (self.rho is None):
            raise InvalidValue("Give the amount of the quota in all, as an epsilon or a rho.")
        epsilon, rho = (
            None if each is None else exact(each) for each in (self.epsilon, self.rho)
        )
        allowed = Allowance(epsilon, rho, exact(self.delta))
        return quota_of(allowed, session.ledger.status(population))


class NewQuota(QuotaAmount):
    """A quota, and its holder: an analyst, a team, or null for analysts without a quota."""

    holder: Name | None


class QuotaWish(QuotaAmount):
    """A request for a quota of this amount in all, for the caller or for one of their teams."""

    team: Name | None = None
    reason: Annotated[str, Field(max_length=LONGEST_REASON)] = ""


class GrantedAmount(QuotaAmount):
    """The quota to grant; without an amount, it is the one that was asked for."""


class Membership(Sent):
    """An analyst and a team, whose name begins with @."""

    team: Name
    principal: Name


class ApprovedKey(Sent):
    """The fingerprint of another owner's key, as this owner gave it to the caller."""

    fingerprint: Annotated[str, Field(max_length=LONGEST_NAME)] | None = None


# ------------------------------------------------------------------ what waits


@router.get("/v1/waiting", **open_to(Role.OWNER))
def count_waiting(session: Door) -> dict[str, Any]:
    """Return what waits for an owner: late or failed answers, requests and proposals."""
    return {
        "waiting": [
            {
                "population": each.name,
                "locked": session.ledger.status(each.name).locked,
                "requests": len(session.ledger.quota_requests(each.name)),
                "proposals": len(session.ledger.waiting_proposals(each.name)),
            }
            for each in session.catalog.populations
        ]
    }


# ------------------------------------------------------------------ proposals


@router.get("/v1/ledger/{population}/proposals", **open_to(Role.AUDITOR, Role.OWNER))
def list_proposals(population: str, session: Door) -> dict[str, Any]:
    """Return the proposals of owners that a second owner can approve, and until when.

    `what` says each in words; a raise of the cap with the epsilon before and after it.
    """
    name = session.catalog.population(population).name
    found, status = session.ledger.waiting_proposals(name), session.ledger.status(name)
    return {
        "population": name,
        "proposals": [
            {
                "number": seq,
                "by": act.by,
                "at": act.at,
                "lapses": act.lapses or None,
                "what": AmountTexts.of(status).decision(act.decision, status.cap_units),
                **_decision_json(session, name, act),
            }
            for seq, act in found.items()
        ],
    }


@router.post("/v1/ledger/{population}/proposals/{number}/approve", **open_to(Role.OWNER))
def approve(
    population: str,
    number: Number,
    session: Door,
    caller: Calling,
    given: ApprovedKey | None = None,
) -> dict[str, Any]:
    """Approve, as a second owner, the proposal with this number, which then takes effect.

    The key of another owner is approved with the `fingerprint` that this owner gave the caller.
    """
    name = session.catalog.population(population).name
    waiting = session.ledger.waiting_proposals(name).get(number)
    check_fingerprint(waiting, None if given is None else given.fingerprint)
    entry = session.ledger.approve(name, number, by=caller.principal)
    return {"population": name, "entry": entry.seq, "approved": number}


@router.post("/v1/ledger/{population}/proposals/{number}/withdraw", **open_to(Role.OWNER))
def withdraw(population: str, number: Number, session: Door, caller: Calling) -> dict[str, Any]:
    """Withdraw the proposal with this number, as any owner. It can no longer be approved."""
    name = session.catalog.population(population).name
    entry = session.ledger.withdraw(name, number, by=caller.principal)
    return {"population": name, "entry": entry.seq, "withdrawn": number}


def _decision_json(session: Session, population: str, act: entries.Proposed) -> dict[str, Any]:
    match act.decision:
        case entries.CapRaised() as raised:
            units = _units_json(session, population, raised.amount, raised.delta)
            total = _raised_total(session, population, Units(raised.amount, raised.delta))
            raises = {"raise": units, "total": total}
            return {"decision": "cap raised", **raises, "reason": raised.reason}
        case entries.OwnerAdded(owner):
            return {"decision": "owner added", "owner": owner}
        case entries.OwnerRemoved(owner):
            return {"decision": "owner removed", "owner": owner}
        case KeySet(owner, _):  # its fingerprint must come from the owner
            return {"decision": "key set", "owner": owner}
        case SignInsTrusted(key, issuer):
            return {"decision": "sign-ins trusted", "key": key, "issuer": issuer}
        case SignInsEnded(key):
            return {"decision": "sign-ins ended", "key": key}


def _raised_total(session: Session, population: str, by: Units) -> dict[str, dict[str, str]]:
    """Return the epsilon and delta of everything ever released: now, and after a raise."""
    status = session.ledger.status(population)
    cap = (status.cap_units + by).loss(status.measure)
    then = to_approximate_dp(cap, status.conversion_delta)
    return {"now": encode_loss(status.total), "then": encode_loss(then)}


# ------------------------------------------------------------------ keys of owners


class OwnKey(Sent):
    """The public key with which the caller will sign: 64 hexadecimal digits."""

    key: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


@router.get("/v1/ledger/{population}/keys", **open_to(Role.AUDITOR, Role.OWNER))
def list_keys(population: str, session: Door) -> dict[str, Any]:
    """Return the keys with which owners sign, and the installations whose sign-ins count.

    `signed_since` is the entry that set the first key; it is 0 while acts are not signed.
    """
    name = session.catalog.population(population).name
    keys = session.ledger.owner_keys(name)
    return {
        "population": name,
        "signed_since": keys.since,
        "keys": {owner: keys.key_of(owner) for owner in sorted(session.ledger.owners(name))},
        "sign_ins": keys.trusted,
    }


@router.post("/v1/ledger/{population}/keys", status_code=201, **open_to(Role.OWNER))
def propose_key(
    population: str, given: OwnKey, session: Door, caller: Calling
) -> dict[str, Any]:
    """Propose the caller's own key, by a sign-in that the owners trust.

    So an owner who lost a key sets another one. A second owner approves it, if there is one.
    """
    name = session.catalog.population(population).name
    entry = session.ledger.propose(
        name, KeySet(caller.principal, given.key), by=caller.principal
    )
    return {"population": name, "entry": entry.seq, "key": given.key}


# ------------------------------------------------------------------ quotas


@router.get("/v1/ledger/{population}/quotas", **open_to(Role.AUDITOR, Role.OWNER))
def list_quotas(population: str, session: Door) -> dict[str, Any]:
    """Return the quota and the spent sum of each analyst and team.

    The holder null has the quota of every analyst without one of their own.
    """
    name = session.catalog.population(population).name
    return {
        "population": name,
        "quotas": [_quota_json(each) for each in session.ledger.quotas(name)],
    }


@router.post("/v1/ledger/{population}/quotas", **open_to(Role.OWNER))
def set_quota(
    population: str, given: NewQuota, session: Door, caller: Calling
) -> dict[str, Any]:
    """Set the quota of an analyst or a team, or of every analyst who has none."""
    name = session.catalog.population(population).name
    loss = given.loss_in(session, name)
    if given.holder is None:
        entry = session.ledger.set_default_quota(name, loss, by=caller.principal)
    else:
        entry = session.ledger.set_quota(name, given.holder, loss, by=caller.principal)
    return {
        "population": name,
        "entry": entry.seq,
        "holder": given.holder,
        "quota": encode_loss(loss),
    }


def _quota_json(status: HolderStatus) -> dict[str, Any]:
    return {
        "holder": status.holder or None,
        "quota": None if status.quota is None else encode_loss(status.quota),
        "spent": encode_loss(status.spent),
    }


# ------------------------------------------------------------------ teams


@router.get("/v1/ledger/{population}/teams", **open_to(Role.AUDITOR, Role.OWNER))
def list_teams(population: str, session: Door) -> dict[str, Any]:
    """Return the members of each team. A team's quota limits all of them together."""
    name = session.catalog.population(population).name
    return {"population": name, "teams": session.ledger.teams(name)}


@router.post("/v1/ledger/{population}/teams/join", **open_to(Role.OWNER))
def join(population: str, given: Membership, session: Door, caller: Calling) -> dict[str, Any]:
    """Add an analyst to a team. Their later charges count for the team too."""
    name = session.catalog.population(population).name
    act = session.ledger.join
    entry = act(name, given.principal, given.team, by=caller.principal)
    return {"population": name, "entry": entry.seq, **given.model_dump()}


@router.post("/v1/ledger/{population}/teams/leave", **open_to(Role.OWNER))
def leave(population: str, given: Membership, session: Door, caller: Calling) -> dict[str, Any]:
    """Remove an analyst from a team, which keeps the sum of their earlier charges."""
    name = session.catalog.population(population).name
    act = session.ledger.leave
    entry = act(name, given.principal, given.team, by=caller.principal)
    return {"population": name, "entry": entry.seq, **given.model_dump()}


# ------------------------------------------------------------------ requests


@router.get(
    "/v1/ledger/{population}/requests", **open_to(Role.ANALYST, Role.AUDITOR, Role.OWNER)
)
def list_requests(population: str, session: Door, caller: Calling) -> dict[str, Any]:
    """Return the requests for a larger quota that no owner has decided.

    An analyst sees their own, by their `id`. Owners and auditors also see the `number` of the
    entry. The result of a decided one is in `GET /v1/status`.
    """
    name = session.catalog.population(population).name
    found = session.ledger.quota_requests(name)
    return {
        "population": name,
        "requests": [
            ({} if caller.role is Role.ANALYST else {"number": seq})
            | {
                "id": request_id(name, entries.encode_act(act)),
                "principal": act.principal,
                "holder": act.holder,
                "quota": _units_json(session, name, act.amount, act.delta),
                "reason": act.reason,
                "at": act.at,
            }
            for seq, act in found.items()
            if caller.role is not Role.ANALYST or act.principal == caller.principal
        ],
    }


@router.post("/v1/ledger/{population}/requests", status_code=201, **open_to(Role.ANALYST))
def request(
    population: str, given: QuotaWish, session: Door, caller: Calling
) -> dict[str, Any]:
    """Ask for a larger quota, which an owner decides. There is one open request at a time."""
    name = session.catalog.population(population).name
    loss = given.loss_in(session, name)
    entry = session.ledger.request_quota(
        name, loss, by=caller.principal, team=given.team, reason=given.reason
    )
    named = request_id(name, entry.body)
    return {"population": name, "id": named, "quota": encode_loss(loss)}


@router.post("/v1/ledger/{population}/requests/{number}/grant", **open_to(Role.OWNER))
def grant(
    population: str,
    number: RequestName,
    session: Door,
    caller: Calling,
    given: GrantedAmount | None = None,
) -> dict[str, Any]:
    """Grant a request, with the amount that was asked for or with another one.

    `number` is its `number`, or its `id`.
    """
    name = session.catalog.population(population).name
    loss = None
    if given is not None and given != GrantedAmount():
        loss = given.loss_in(session, name)
    entry = session.ledger.grant_quota(name, number, by=caller.principal, cap=loss)
    return {"population": name, "entry": entry.seq, "granted": number}


@router.post("/v1/ledger/{population}/requests/{number}/decline", **open_to(Role.OWNER))
def decline(
    population: str, number: RequestName, session: Door, caller: Calling
) -> dict[str, Any]:
    """Decline a request, by its `id` or its `number`. The quota stays as it is."""
    name = session.catalog.population(population).name
    entry = session.ledger.decline_quota(name, number, by=caller.principal)
    return {"population": name, "entry": entry.seq, "declined": number}


def _units_json(session: Session, population: str, amount: int, delta: int) -> dict[str, str]:
    measure = session.ledger.status(population).measure
    return encode_loss(Units(amount, delta).loss(measure))
