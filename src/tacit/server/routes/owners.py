"""Routes for budgets, the ledger, tokens and the operation of the server."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import Path, Query, Request, Response

from tacit.core import encode_loss
from tacit.errors import NotPermitted, UnknownName
from tacit.ledger import MEANING, holder_fields, status_at, status_fields
from tacit.numeric import plain
from tacit.server.guarded_route import new_router, open_to
from tacit.server.identity import Caller
from tacit.server.messages import AllTables, Calling, Clocked, Door, NewToken, scope_of
from tacit.server.middleware import RequestMetrics
from tacit.server.readiness import Readiness
from tacit.server.token_policy import DAY_MS, Role, TokenScope, check_pass
from tacit.session import Curator, Session
from tacit.store import AccessToken, Tokens, hash_of

router = new_router()

MOST_ENTRIES = 1000
"""Largest number of entries of a chain in one response."""

Place = Annotated[int, Query(ge=0, le=2**62)]
Page = Annotated[int, Query(ge=1, le=MOST_ENTRIES)]


@router.get("/v1/status", **open_to(Role.ANALYST, Role.OWNER, Role.AUDITOR))
def status(session: Door, caller: Calling, curator: AllTables) -> dict[str, Any]:
    """Return what is spent and left of each budget, and of the caller's own quota.

    `declaration` is the number of the entry that declares the tables. For owners and auditors,
    `entry` is the newest entry of the chain, after which these are the sums. For owners,
    `waits` says why this server does not answer questions about a population.
    """
    waits = curator.waits if caller.role is Role.OWNER else {}
    return {
        "budgets": [
            _status_json(session, curator, people.name, caller)
            | {"own": holder_fields(session.ledger.status_for(people.name, caller.principal))}
            | ({"waits": waits[people.name]} if people.name in waits else {})
            for people in session.catalog.populations
        ]
    }


def _status_json(
    session: Session, curator: Curator, population: str, caller: Caller
) -> dict[str, Any]:
    """Return the status of a population, which shows its newest entry to no analyst.

    The number of the newest entry would show analysts when somebody's answer was stored.
    """
    if caller.role not in {Role.OWNER, Role.AUDITOR}:
        return status_fields(session.status(population))
    found, entry = status_at(curator.home.store, population, caller.principal)
    return status_fields(found) | {"entry": entry}


@router.get("/v1/me", **open_to(*Role))
async def me(caller: Calling) -> dict[str, Any]:
    """Return who the caller is: the principal, the role and the scope of the token.

    `may_set_up` says whether the caller may set up populations (`/v1/setup`).
    """
    scope = caller.scope
    return {
        "principal": caller.principal,
        "role": caller.role.value,
        "datasets": None if scope.datasets is None else list(scope.datasets),
        "may_set_up": caller.may_set_up,
    }


@router.get("/v1/ledger/{population}", **open_to(Role.AUDITOR, Role.OWNER, lane="audit"))
def ledger(
    population: str, session: Door, after: Place = 0, limit: Page = MOST_ENTRIES
) -> dict[str, Any]:
    """Return the entries of a population's chain after a number, at most ``limit``."""
    name = session.catalog.population(population).name
    entries = session.ledger.entries(name, after)[:limit]
    return {
        "population": name,
        "entries": [
            {"seq": entry.seq, "body": entry.body, "hash": entry.hash.hex()}
            for entry in entries
        ],
    }


@router.get("/v1/ledger/{population}/verify", **open_to(Role.AUDITOR, Role.OWNER, lane="audit"))
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
    return {**status_fields(session.status(name)), "looked_at": listed}


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


# ------------------------------------------------------------------ tokens
# Owners issue tokens for datasets that they own, and revoke them.

Hash = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]


@router.post("/v1/tokens", status_code=201, **open_to(Role.OWNER))
def issue(given: NewToken, curator: AllTables, caller: Calling, now: Clocked) -> dict[str, Any]:
    """Issue a new token, which is shown once. The caller must own all of its datasets.

    Its datasets are fixed now: those that are named, or else all that the caller owns.
    """
    if given.role is Role.OPERATOR or (
        given.role is Role.OWNER and given.principal != caller.principal
    ):
        raise NotPermitted(
            "A token for another owner, or for an operator, cannot be issued over HTTP. Issue "
            "it with `tacit token` where the ledger is."
        )
    scope, until = scope_of(given), now + given.days * DAY_MS
    if scope.datasets is None:
        scope = replace(scope, datasets=caller.scope.datasets)
    if not _owns(caller, scope, curator):
        raise NotPermitted(
            "A token can be issued only for datasets that you own and that your own token "
            "reaches. Name them in `datasets`."
        )
    scope = scope.fix(curator.catalog)
    allowed = AccessToken(given.principal, given.role.value, scope.text, until)
    check_pass(allowed, curator.catalog, curator.home.ledger)
    token = Tokens(curator.home.store).issue(allowed)
    return {"token": token, **_token_json(hash_of(token), allowed, caller)}


@router.get("/v1/tokens", **open_to(Role.OWNER))
def list_tokens(curator: AllTables, caller: Calling, now: Clocked) -> dict[str, Any]:
    """Return the valid tokens that reach something of the caller's.

    `datasets` are those that the caller owns, and `others` says whether there are more.
    """
    found, reach = Tokens(curator.home.store).all(now), TokenReach(caller, curator)
    return {
        "tokens": [
            _token_json(hash_, allowed, caller)
            for hash_, allowed in found.items()
            if reach.includes(allowed)
        ]
    }


@router.delete("/v1/tokens/{token_id}", status_code=204, **open_to(Role.OWNER))
def revoke(token_id: Hash, curator: AllTables, caller: Calling, now: Clocked) -> Response:
    """Revoke a token. Any owner of something that it reaches may do this.

    A token of another owner reaches what they own.
    """
    tokens, hash_ = Tokens(curator.home.store), bytes.fromhex(token_id)
    allowed = tokens.all(now).get(hash_)
    if allowed is None or not TokenReach(caller, curator).includes(allowed):
        raise UnknownName("There is no valid token with this id that you may revoke.")
    tokens.revoke_hash(hash_)
    return Response(status_code=204)


def _token_json(hash_: bytes, allowed: AccessToken, caller: Caller) -> dict[str, Any]:
    """Return a token without the names of datasets that the caller does not own."""
    names, own = TokenScope.of(allowed.scope).datasets, caller.scope.datasets or ()
    return {
        "id": hash_.hex(),
        "principal": allowed.principal,
        "role": allowed.role,
        "datasets": own if names is None else [name for name in names if name in own],
        "others": names is None or not set(names) <= set(own),
        "expires": allowed.expires,
    }


class TokenReach:
    """The tokens that reach a population of one owner, who may revoke them.

    A token of an owner reaches what its principal owns, whichever datasets it names, and a
    token of an operator reaches no dataset. Otherwise an owner of one population could revoke
    the tokens of the owners of all others.
    """

    def __init__(self, caller: Caller, curator: Curator) -> None:
        self._curator = curator
        catalog = caller.scope.of_catalog(curator.catalog)
        self._own = frozenset(each.name for each in catalog.populations)
        self._found: dict[str, frozenset[str]] = {}

    def includes(self, allowed: AccessToken) -> bool:
        """Return whether a token with these rights reaches something of the owner's."""
        if allowed.role == Role.OPERATOR:
            return False
        found = self._populations(allowed.scope)
        if allowed.role != Role.OWNER:
            return bool(found)
        owners = self._curator.home.ledger.owners
        return any(allowed.principal in owners(each) for each in found)

    def _populations(self, scope: str) -> frozenset[str]:
        """Return the owner's populations that a scope is about; many tokens have the same."""
        if scope not in self._found:
            about = TokenScope.of(scope).populations_in(self._curator.catalog)
            self._found[scope] = self._own & about
        return self._found[scope]


def _owns(caller: Caller, scope: TokenScope, curator: Curator) -> bool:
    """Return whether ``scope`` has datasets, and the caller owns all that it reaches.

    A dataset that does not exist is treated like a dataset of another owner.
    """
    reached = {each.name for each in scope.of_catalog(curator.catalog).datasets}
    named = reached | set(scope.datasets or ())
    return bool(named) and named <= set(caller.scope.datasets or ())


# ------------------------------------------------------------------ operation
# These routes show that the server runs, and nothing about any question. They are answered on
# the event loop, without a thread, so that they answer whatever else the server has to do.


@router.get("/health", **open_to())
async def health() -> dict[str, str]:
    """Return the status "ok" while the server runs, also if it cannot answer questions."""
    return {"status": "ok"}


@router.get("/ready", **open_to())
async def ready(request: Request) -> dict[str, Any]:
    """Return whether the server can answer questions: its store, its workers, its anchor.

    The status is 503 if one of them is missing. The parts are checked in the background, about
    every second, and this route returns the last result.
    """
    readiness: Readiness = request.app.state.readiness
    return {"status": "ready", **readiness.check()}


@router.get("/", include_in_schema=False, **open_to())
async def first_page() -> Response:
    """Send a browser to the console."""
    return Response(status_code=303, headers={"Location": "/console/"})


@router.get("/openapi.json", **open_to())
async def openapi(request: Request) -> Response:
    """Return the OpenAPI description of this interface."""
    # anyone may ask for it, so that it is written once, and not for each request
    return Response(request.app.state.describe(), media_type="application/json")


@router.get("/metrics", **open_to(Role.OPERATOR))
async def metrics(request: Request) -> Response:
    """Return the number of requests and their latencies, in the text format of Prometheus.

    A latency ends when an answer leaves, as for everybody else. The times of engines are shown
    on the port of operators only.
    """
    traffic: RequestMetrics = request.app.state.traffic
    return Response(traffic.text(), media_type="text/plain; version=0.0.4")
