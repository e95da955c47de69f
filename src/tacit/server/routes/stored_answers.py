"""The route that opens a stored answer, and never charges for one."""

from fastapi import Request, Response

from tacit.errors import UnknownName
from tacit.query import FreeQuestion
from tacit.server.guarded_route import new_router, open_to
from tacit.server.messages import (
    Calling,
    Door,
    PricedQuestion,
    negotiate_media_type,
    release_response,
)
from tacit.server.routes.questions import question_of
from tacit.server.token_policy import Role
from tacit.session import Stage, paid_question

router = new_router()

NOT_THERE = "This question has no stored answer that serves it. Nothing was read or charged."
RUNNING = "This question is being answered. Open it again in a moment."


@router.post("/v1/open", **open_to(Role.ANALYST, Role.OWNER, lane="prices"))
def open_answer(
    given: PricedQuestion, request: Request, session: Door, caller: Calling
) -> Response:
    """Return the stored answer to a question, as `POST /v1/ask` would, or 404 without one.

    Guarantee: nothing is charged and no data is read, whatever is sent. So an address that
    opens an answer by this route can be shared with all who may ask its question.
    """
    kind = negotiate_media_type(request)
    question = question_of(given, session, caller)
    if isinstance(question, FreeQuestion):
        return release_response(question.ask(), kind)
    found = paid_question(question, **given.amounts).look()
    if isinstance(found, Stage):
        raise UnknownName(NOT_THERE if found is Stage.NEW else RUNNING)
    return release_response(found, kind)
