"""Routes for budgets, the ledger, tokens and the operation of the server."""

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
    """Return what is spent and left of each budget, and of the caller's own quota.

    For owners, `waits` says why this server does not answer questions about a population.
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
    """Return the entries of a population's chain after a number, at most a thousand."""
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
    """Verify the whole hash chain of a population, and return its totals."""
    verdict = session.verify(population)
    return {
        "population": verdict.population,
        "entries": verdict.entries,
        "head": verdict.head.hex(),
        "spent": encode_loss(verdict.spent),
        "cap": encode_loss(verdict.cap),
        "conversion_delta": plain(verdict.conversion_delta),
        "verdict": str(verdict),
    }


@router.post("/v1/ledger/{population}/look", **open_to(Role.OWNER))
def look(population: str, session: Door, caller: Calling) -> dict[str, Any]:
    """Record that an owner reviewed the late and failed answers, so that charges continue.

    The response lists each reviewed charge (`looked_at`): its number in the chain, whether it
    was late, failed or run twice, and when. The reason is not recorded.
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
        "quotas_left": [encode_loss(each) for each in status.quotas],
    }


def _own(status: Status) -> dict[str, Any]:
    return {name: encode_loss(getattr(status, name)) for name in ("cap", "spent", "left")}


# ------------------------------------------------------------------ tokens
# Owners issue tokens for datasets that they own, and revoke them.

Hash = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]


@router.post("/v1/tokens", status_code=201, **open_to(Role.OWNER))
def issue(given: NewToken, curator: AllTables, caller: Calling, now: Clocked) -> dict[str, Any]:
    """Issue a new token, which is shown once. The caller must own all of its datasets."""
    if given.role is Role.OWNER and given.principal != caller.principal:
        raise NotPermitted(
            "A token for another owner cannot be issued over HTTP. Issue it with `tacit token` "
            "where the ledger is."
        )
    scope, until = scope_of(given), now + given.days * DAY_MS
    allowed = AccessToken(given.principal, given.role.value, scope.text, until)
    check_pass(allowed, curator.catalog, curator.home.ledger)
    if not _owns(caller, scope, curator):
        raise NotPermitted(
            "A token can be issued only for datasets that you own. Name them in `datasets`."
        )
    token = Tokens(curator.home.store).issue(allowed)
    return {"token": token, **_token_json(hash_of(token), allowed)}


@router.get("/v1/tokens", **open_to(Role.OWNER))
def list_tokens(curator: AllTables, caller: Calling, now: Clocked) -> dict[str, Any]:
    """Return the valid tokens whose datasets the caller owns."""
    found = Tokens(curator.home.store).all(now)
    mine = {
        hash_: allowed
        for hash_, allowed in found.items()
        if _owns(caller, TokenScope.of(allowed.scope), curator)
    }
    return {"tokens": [_token_json(hash_, allowed) for hash_, allowed in mine.items()]}


@router.delete("/v1/tokens/{token_id}", status_code=204, **open_to(Role.OWNER))
def revoke(token_id: Hash, curator: AllTables, caller: Calling, now: Clocked) -> Response:
    """Revoke a token."""
    tokens, hash_ = Tokens(curator.home.store), bytes.fromhex(token_id)
    allowed = tokens.all(now).get(hash_)
    if allowed is None or not _owns(caller, TokenScope.of(allowed.scope), curator):
        raise UnknownName("There is no valid token with this id that you may revoke.")
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
    """Return whether the caller owns all datasets in ``scope``."""
    reached = scope.of_catalog(curator.catalog)
    return {each.name for each in reached.datasets} <= set(caller.scope.datasets or ())


# ------------------------------------------------------------------ operation
# These routes show that the server runs, and nothing about any question.


@router.get("/health", **open_to())
def health() -> dict[str, str]:
    """Return the status "ok" while the server runs."""
    return {"status": "ok"}


@router.get("/openapi.json", **open_to())
def openapi(request: Request) -> JSONResponse:
    """Return the OpenAPI description of this interface."""
    description: dict[str, Any] = request.app.openapi()
    return JSONResponse(description)


@router.get("/metrics", **open_to(Role.OPERATOR))
def metrics(request: Request) -> Response:
    """Return the number of requests and their latencies, in the text format of Prometheus."""
    traffic: RequestMetrics = request.app.state.traffic
    return Response(traffic.text(), media_type="text/plain; version=0.0.4")
