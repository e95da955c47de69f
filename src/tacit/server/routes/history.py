"""The route by which owners and auditors read the ledger in words."""

from typing import Annotated, Any

from fastapi import Query

from tacit.ledger import LONGEST_NAME, USUAL_LIMIT, HistoryFilter
from tacit.server.guarded_route import new_router, open_to
from tacit.server.messages import Door
from tacit.server.token_policy import Role

router = new_router()

MOST_LINES = 1000
"""Largest number of lines in one response."""

Person = Annotated[str, Query(min_length=1, max_length=LONGEST_NAME)]
Kinds = Annotated[list[Annotated[str, Query(max_length=40)]], Query(max_length=40)]
Day = Annotated[str, Query(max_length=10)]
Receipt = Annotated[str, Query(pattern="^[0-9a-f]{64}$")]
Limit = Annotated[int, Query(ge=1, le=MOST_LINES)]


@router.get(
    "/v1/ledger/{population}/history", **open_to(Role.AUDITOR, Role.OWNER, lane="audit")
)
def history(  # noqa: PLR0913, PLR0917 - the population, the session, and one for each filter
    population: str,
    session: Door,
    analyst: Person | None = None,
    kind: Kinds = [],  # noqa: B006 - FastAPI copies it
    since: Day | None = None,
    until: Day | None = None,
    limit: Limit = USUAL_LIMIT,
    receipt: Receipt | None = None,
) -> dict[str, Any]:
    """Return a population's ledger in words: who, when, what, cost, and what became of it.

    Of the entries that fit, the newest are returned, in their order. Both days are included,
    in UTC.
    """
    name = session.catalog.population(population).name
    wanted = HistoryFilter.of(
        analyst=analyst, kind=kind, since=since, until=until, limit=limit, receipt=receipt
    )
    return session.ledger.history(name, wanted).to_dict()
