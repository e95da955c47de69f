"""What is spent and left, and the chain that says so."""

from typing import Annotated, Any

from fastapi import Path, Query, Request, Response
from fastapi.responses import JSONResponse

from tacit.core import encode_loss
from tacit.errors import NotPermitted, UnknownName
from tacit.ledger import MEANING, Status
from tacit.numeric import plain
from tacit.server.guarded_route import new_router, open_to
from tacit.server.identity import Caller
from tacit.server.messages import AllTables, Calling, Clocked, Door, NewToken, scope_of
from tacit.server.middleware import RequestMetrics
from tacit.server.token_policy import DAY_MS, Role, TokenScope, check_pass
from tacit.session import Curator
from tacit.store import AccessToken, Tokens, hash_of

router = new_router()

Place = Annotated[int, Query(ge=0, le=2**62)]


@router.get("/v1/status", **open_to(Role.ANALYST, Role.OWNER, Role.AUDITOR))
def status(session: Door, caller: Calling, curator: AllTables) -> dict[str, Any]:
    """What is spent of each budget, and by the caller themselves.

    Owners are told what this server waits for, where it does not answer about a population.
    """
    waits = curator.waits if caller.role is Role.OWNER else {}
    return {
        "budgets": [
            _status_json(session.status(people.name))
            | {"own": _own(session.ledger.status_for(people.name, caller.principal))}
            | ({"waits": waits[people.name]} if people.name in waits else {})
            for people in session.catalog.populations
        ]
    }


@router.get("/v1/ledger/{population}", **open_to(Role.AUDITOR, Role.OWNER))
def ledger(population: str, session: Door, after: Place = 0) -> dict[str, Any]:
    """The entries of a population's chain after a place, at most a thousand."""
    name = session.catalog.population(population).name
    entries = session.ledger.entries(name, after)
    return {
        "population": name,
        "entries": [
            {"seq": entry.seq, "body": entry.body, "hash": entry.hash.hex()}
            for entry in entries
        ],
    }


@router.get("/v1/ledger/{population}/verify", **open_to(Role.AUDITOR, Role.OWNER))
def verify(population: str, session: Door) -> dict[str, Any]:
    """Walk the whole chain of a population, and say whether it holds."""
    verdict = session.verify(population)
    return {
        "population": verdict.population,
        "entries": verdict.entries,
        "head": verdict.head.hex(),
        "spent": encode_loss(verdict.spent),
        "cap": encode_loss(verdict.cap),
        "verdict": str(verdict),
    }


@router.post("/v1/ledger/{population}/look", **open_to(Role.OWNER))
def look(population: str, session: Door, caller: Calling) -> dict[str, Any]:
    """Record that an owner looked at what was late or failed; then more is charged.

    The answer lists each charge that was looked at (`looked_at`): its place in the chain, what
    became of it, and when; never why.
    """
    name = session.catalog.population(population).name
    seen = session.ledger.look(name, by=caller.principal)
    listed = [{"charge": act.charge, "what": MEANING[type(act)], "at": act.at} for act in seen]
    return {**_status_json(session.status(name)), "looked_at": listed}


@router.post("/v1/ledger/{population}/freeze", **open_to(Role.OWNER))
def freeze(population: str, session: Door, caller: Calling) -> dict[str, Any]:
    """Stop all charges about a population, at every server that shares the ledger."""
    name = session.catalog.population(population).name
    entry = session.ledger.freeze(name, by=caller.principal)
    return {"population": name, "entry": entry.seq, "frozen": True}


@router.post("/v1/ledger/{population}/thaw", **open_to(Role.OWNER))
def thaw(population: str, session: Door, caller: Calling) -> dict[str, Any]:
    """Allow charges about a population again."""
    name = session.catalog.population(population).name
    entry = session.ledger.thaw(name, by=caller.principal)
    return {"population": name, "entry": entry.seq, "frozen": False}


def _status_json(status: Status) -> dict[str, Any]:
    return {
        "population": status.population,
        "conversion_delta": plain(status.conversion_delta),
        **_own(status),
        "total": encode_loss(status.total),
        "total_so_far": encode_loss(status.total_so_far),
        "missed": status.missed,
        "locked": status.locked,
        "failed": status.failed,
        "retried": status.retried,
        "least": encode_loss(status.least),
        "frozen": status.frozen,
        "declaration": status.declaration,
    }


def _own(status: Status) -> dict[str, Any]:
    return {name: encode_loss(getattr(status, name)) for name in ("cap", "spent", "left")}


# ------------------------------------------------------------------ tokens
# Tokens: owners hand them out for their own datasets, and take them back.

Hash = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]


@router.post("/v1/tokens", status_code=201, **open_to(Role.OWNER))
def issue(given: NewToken, curator: AllTables, caller: Calling, now: Clocked) -> dict[str, Any]:
    """A new token, which is shown once. Only owners of all that it reaches make it."""
    if given.role is Role.OWNER and given.principal != caller.principal:
        raise NotPermitted(
            "A token that decides in another's name is made where the ledger is: tacit token."
        )
    scope, until = scope_of(given), now + given.days * DAY_MS
    allowed = AccessToken(given.principal, given.role.value, scope.text, until)
    check_pass(allowed, curator.catalog, curator.home.ledger)
    if not _owns(caller, scope, curator):
        raise NotPermitted(
            "A token reaches datasets that you own, and no others; name them in `datasets`."
        )
    token = Tokens(curator.home.store).issue(allowed)
    return {"token": token, **_token_json(hash_of(token), allowed)}


@router.get("/v1/tokens", **open_to(Role.OWNER))
def list_tokens(curator: AllTables, caller: Calling, now: Clocked) -> dict[str, Any]:
    """The valid tokens that reach no further than what the caller owns."""
    found = Tokens(curator.home.store).all(now)
    mine = {
        hash_: allowed
        for hash_, allowed in found.items()
        if _owns(caller, TokenScope.of(allowed.scope), curator)
    }
    return {"tokens": [_token_json(hash_, allowed) for hash_, allowed in mine.items()]}


@router.delete("/v1/tokens/{token_id}", status_code=204, **open_to(Role.OWNER))
def revoke(token_id: Hash, curator: AllTables, caller: Calling, now: Clocked) -> Response:
    """End a token."""
    tokens, hash_ = Tokens(curator.home.store), bytes.fromhex(token_id)
    allowed = tokens.all(now).get(hash_)
    if allowed is None or not _owns(caller, TokenScope.of(allowed.scope), curator):
        raise UnknownName("There is no valid token of this id that you may end.")
    tokens.revoke_hash(hash_)
    return Response(status_code=204)


def _token_json(hash_: bytes, allowed: AccessToken) -> dict[str, Any]:
    scope = TokenScope.of(allowed.scope)
    return {
        "id": hash_.hex(),
        "principal": allowed.principal,
        "role": allowed.role,
        "datasets": scope.datasets,
        "expires": allowed.expires,
    }


def _owns(caller: Caller, scope: TokenScope, curator: Curator) -> bool:
    """Whether ``scope`` reaches no further than what the caller owns."""
    reached = scope.of_catalog(curator.catalog)
    return {each.name for each in reached.datasets} <= set(caller.scope.datasets or ())


# ------------------------------------------------------------------ operate
# Whether the server runs, and what it can do: nothing of anybody's question.


@router.get("/health", **open_to())
def health() -> dict[str, str]:
    """Whether the server runs."""
    return {"status": "ok"}


@router.get("/openapi.json", **open_to())
def openapi(request: Request) -> JSONResponse:
    """This interface, for machines."""
    told: dict[str, Any] = request.app.openapi()
    return JSONResponse(told)


@router.get("/metrics", **open_to(Role.OPERATOR))
def metrics(request: Request) -> Response:
    """Requests and their seconds, in the text format of Prometheus."""
    traffic: RequestMetrics = request.app.state.traffic
    return Response(traffic.text(), media_type="text/plain; version=0.0.4")
