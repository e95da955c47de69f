"""Tokens: owners hand them out for their own datasets, and take them back."""

from typing import Annotated, Any

from fastapi import Path, Response

from tacit.errors import NotPermitted, UnknownName
from tacit.server.admission import DAY_MS, check_pass
from tacit.server.caller import Caller
from tacit.server.given import AllTables, Calling, Clocked, NewToken, scope_of
from tacit.server.role import Role
from tacit.server.route import new_router, open_to
from tacit.server.scope import Scope
from tacit.session.curator import Curator
from tacit.store.tokens import Pass, Tokens, hash_of

router = new_router()

Hash = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]


@router.post("/v1/tokens", status_code=201, **open_to(Role.OWNER))
def issue(given: NewToken, curator: AllTables, caller: Calling, now: Clocked) -> dict[str, Any]:
    """A new token, which is shown once. Only owners of all that it reaches make it."""
    if given.role is Role.OWNER and given.principal != caller.principal:
        raise NotPermitted(
            "A token that decides in another's name is made where the ledger is: tacit token."
        )
    scope, until = scope_of(given), now + given.days * DAY_MS
    allowed = Pass(given.principal, given.role.value, scope.text, until)
    check_pass(allowed, curator.catalog, curator.home.ledger)
    if not _owns(caller, scope, curator):
        raise NotPermitted(
            "A token reaches datasets that you own, and no others; name them in `datasets`."
        )
    token = Tokens(curator.home.store).issue(allowed)
    return {"token": token, **_told(hash_of(token), allowed)}


@router.get("/v1/tokens", **open_to(Role.OWNER))
def list_tokens(curator: AllTables, caller: Calling, now: Clocked) -> dict[str, Any]:
    """The valid tokens that reach no further than what the caller owns."""
    found = Tokens(curator.home.store).all(now)
    mine = {
        hash_: allowed
        for hash_, allowed in found.items()
        if _owns(caller, Scope.of(allowed.scope), curator)
    }
    return {"tokens": [_told(hash_, allowed) for hash_, allowed in mine.items()]}


@router.delete("/v1/tokens/{token_id}", status_code=204, **open_to(Role.OWNER))
def revoke(token_id: Hash, curator: AllTables, caller: Calling, now: Clocked) -> Response:
    """End a token."""
    tokens, hash_ = Tokens(curator.home.store), bytes.fromhex(token_id)
    allowed = tokens.all(now).get(hash_)
    if allowed is None or not _owns(caller, Scope.of(allowed.scope), curator):
        raise UnknownName("There is no valid token of this id that you may end.")
    tokens.revoke_hash(hash_)
    return Response(status_code=204)


def _told(hash_: bytes, allowed: Pass) -> dict[str, Any]:
    scope = Scope.of(allowed.scope)
    return {
        "id": hash_.hex(),
        "principal": allowed.principal,
        "role": allowed.role,
        "datasets": scope.datasets,
        "expires": allowed.expires,
    }


def _owns(caller: Caller, scope: Scope, curator: Curator) -> bool:
    """Whether ``scope`` reaches no further than what the caller owns."""
    reached = scope.of_catalog(curator.catalog)
    return {each.name for each in reached.datasets} <= set(caller.scope.datasets or ())
