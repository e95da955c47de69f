"""Routes for publications: what there is, and the stored releases of one over time."""

from typing import Annotated, Any

from fastapi import Path, Query

from tacit.errors import UnknownName
from tacit.publish import (
    ShownPublication,
    released_periods,
    shown_publication,
    shown_publications,
)
from tacit.server.guarded_route import new_router, open_to
from tacit.server.identity import Caller
from tacit.server.messages import Calling, Door
from tacit.server.token_policy import Role
from tacit.session import Session

router = new_router()

MOST_PERIODS = 200
"""Largest number of periods in one response."""

Named = Annotated[str, Path(min_length=1, max_length=200)]
Number = Annotated[int, Query(ge=0, le=10**6)]
Limit = Annotated[int, Query(ge=1, le=MOST_PERIODS)]


@router.get("/v1/publications", **open_to(Role.ANALYST, Role.OWNER))
def publications(session: Door, caller: Calling) -> dict[str, Any]:
    """Return the publications whose tables the token reaches, as they were declared."""
    found = (each for each in shown_publications(session) if _may_read(caller, each, session))
    return {"publications": [each.to_dict() for each in found]}


@router.get("/v1/publications/{name}", **open_to(Role.ANALYST, Role.OWNER, lane="audit"))
def publication(
    name: Named, session: Door, caller: Calling, after: Number = 0, limit: Limit = 60
) -> dict[str, Any]:
    """Return the releases of a publication that are stored, with intervals; this is free.

    They are those from the number `after`, at most `limit`. No period is released here.
    """
    shown = shown_publication(session, name)
    if not _may_read(caller, shown, session):
        raise UnknownName("There is no publication with this name that you may read.")
    released = released_periods(session, shown, after, limit)
    return shown.to_dict() | {"released": released}


def _may_read(caller: Caller, shown: ShownPublication, session: Session) -> bool:
    """Return whether all tables of the publication are in the scope of the token."""
    try:
        caller.scope.check_datasets(shown.datasets, session.catalog)
    except UnknownName:
        return False
    return True
