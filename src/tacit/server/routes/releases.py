"""Releases that the ledger keeps, by their keys."""

from typing import Annotated

from fastapi import Path, Request, Response

from tacit.core.stored_release import decode
from tacit.errors import UnknownName
from tacit.server.answered import answered, wanted
from tacit.server.caller import Caller
from tacit.server.given import AllTables, Calling
from tacit.server.role import Role
from tacit.server.route import new_router, open_to
from tacit.session.curator import Curator

router = new_router()

Key = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]


@router.get("/v1/releases/{release_key}", **open_to(Role.ANALYST, Role.OWNER))
def release(
    release_key: Key, request: Request, curator: AllTables, caller: Calling
) -> Response:
    """A release as it was stored: to the analyst who paid for it, and to owners of its people.

    It is what was released, before it was sorted, divided or cut as the question said.
    """
    kind, key = wanted(request), bytes.fromhex(release_key)
    stored = curator.home.ledger.stored(key)
    found = None if stored is None else decode(stored)
    if found is None or not _may_read(caller, found.guarantee.population.name, key, curator):
        raise UnknownName("There is no release of this key that you may read.")
    return answered(found, kind)


def _may_read(caller: Caller, population: str, key: bytes, curator: Curator) -> bool:
    """Whose it is. A token for some of the datasets reads none: a release names no dataset."""
    if not caller.scope.covers(population, curator.catalog):
        return False
    paid = curator.home.ledger.was_charged
    return caller.role is Role.OWNER or paid(caller.principal, population, key)
