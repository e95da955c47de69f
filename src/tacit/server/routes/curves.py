"""Routes for the curve of error against privacy loss, and for questions to begin with."""

from typing import Any

from fastapi import Request

from tacit.query import FreeQuestion
from tacit.server.guarded_route import new_router, open_to
from tacit.server.messages import Calling, Door, PricedQuestion
from tacit.server.routes.questions import question_of
from tacit.server.token_policy import Role
from tacit.session import KnownExamples

router = new_router()


@router.post("/v1/curve", **open_to(Role.ANALYST, Role.OWNER))
def curve(given: PricedQuestion, session: Door, caller: Calling) -> dict[str, Any]:
    """Return what each margin of error of a question costs. This is free; no data is read.

    `points` are about forty losses with the margin of error of the first column, in `unit`.
    `asked` is the loss of the request, which is a tenth of the budget without an amount.
    `choices` are round margins, `stored` are answers that are free, and `closest` is the
    smallest margin that fits the budget and the caller's quotas. Shares are of the budget's
    rho or epsilon, and add up. `odds` are those of the best attacker, in 100 tries.
    """
    question = question_of(given, session, caller)
    if isinstance(question, FreeQuestion):
        preview = question.quote()
        nothing: dict[str, Any] = {"points": [], "choices": [], "stored": [], "closest": None}
        about = {"population": preview.standing.population, "column": None, "unit": None}
        texts = {"advice": [], "notes": list(preview.notes)}
        figures = {"size": None, "least": False, "asked": None, "budget": None, "odds": None}
        return about | {"free": True} | nothing | figures | texts
    return session.curve(question, **given.amounts).to_dict()


@router.get("/v1/datasets/{name}/examples", **open_to(Role.ANALYST, Role.OWNER, Role.AUDITOR))
def examples(name: str, request: Request, session: Door, caller: Calling) -> dict[str, Any]:
    """Return up to three questions about a dataset that can be asked, with a sentence each.

    They are made from its declarations, and each was quoted. This is free; no data is read.
    """
    table = session.catalog.dataset(name)
    caller.scope.check_datasets((table.name,), session.catalog)
    known: KnownExamples = request.app.state.examples
    found = known.of(session, table.name)
    return {
        "dataset": table.name,
        "examples": [{"sql": each.sql, "sentence": each.sentence} for each in found],
    }
