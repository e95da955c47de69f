"""What may be asked, what it would cost, and its answer: the words of `Session`."""

from typing import Any

from fastapi import Request, Response

from tacit.core.stored_catalog import encode as encode_catalog
from tacit.core.stored_standing import encode as encode_standing
from tacit.numeric.exact import plain
from tacit.plan.relation import datasets
from tacit.render.fields import fields
from tacit.server.answered import answered, wanted
from tacit.server.caller import Caller
from tacit.server.given import (
    Calling,
    Door,
    PricedQuestion,
    Question,
    QuotedQuestion,
    RequestKey,
)
from tacit.server.role import Role
from tacit.server.route import new_router, open_to, run_paid, watched
from tacit.session.preview import Preview
from tacit.session.question import Question as Asked
from tacit.session.session import Session

router = new_router()


@router.get("/v1/datasets", **open_to(Role.ANALYST, Role.OWNER, Role.AUDITOR))
def list_datasets(session: Door, caller: Calling) -> dict[str, Any]:
    """What may be asked about: what owners declared, and nothing learned from data."""
    return encode_catalog(session.catalog) | {"asked_by": caller.principal}


@router.post("/v1/quote", **open_to(Role.ANALYST, Role.OWNER))
def quote(given: QuotedQuestion, session: Door, caller: Calling) -> dict[str, Any]:
    """What answering would cost and miss by: free, and without data.

    Without an amount it is a quote for a tenth of the budget. Errors that depend on how many
    rows a group has are told for groups of ``assume_size``.
    """
    question = _question(given, session, caller)
    return _told(
        question.quote(
            epsilon=given.epsilon,
            rho=given.rho,
            delta=given.delta,
            assume_size=given.assume_size,
        )
    )


@router.post("/v1/explain", **open_to(Role.ANALYST, Role.OWNER))
def explain(given: Question, session: Door, caller: Calling) -> dict[str, str]:
    """How a question would be answered: free, and without data."""
    return {"explained": _question(given, session, caller).explain()}


@router.post("/v1/ask", **open_to(Role.ANALYST))
async def ask(
    given: PricedQuestion,
    request: Request,
    session: Door,
    caller: Calling,
    key: RequestKey = None,
) -> Response:
    """The answer, paid for before any data is touched; the same again is free.

    With an Idempotency-Key, the same request sent again gives the same bytes, or says that
    the answer was lost; it is never charged twice.
    """
    return await run_paid(lambda: _answer(given, request, session, caller, key))


def _answer(
    given: PricedQuestion, request: Request, session: Session, caller: Caller, key: str | None
) -> Response:
    kind = wanted(request)
    question = _question(given, session, caller)
    loss = question.loss(epsilon=given.epsilon, rho=given.rho, delta=given.delta)
    if caller.scope.most is not None:
        caller.scope.check_loss(loss, question.status())
    answer = question.ask(epsilon=given.epsilon, rho=given.rho, delta=given.delta, request=key)
    watched(request)["charge"] = answer.receipt.hex()
    return answered(answer, kind)


def _question(given: Question, session: Session, caller: Caller) -> Asked:
    question = session.sql(given.sql)
    caller.scope.check_datasets(datasets(question.plan.source), session.catalog)
    return question


def _told(preview: Preview) -> dict[str, Any]:
    return {
        "columns": fields(preview.columns),
        "notes": preview.notes,
        "errors": [
            {
                "name": each.name,
                "always": None if each.always is None else plain(each.always),
                "by_size": [[size, plain(error)] for size, error in each.by_size],
            }
            for each in preview.errors
        ],
        "advice": [str(each) for each in preview.advice],
        "standing": encode_standing(preview.standing),
    }
