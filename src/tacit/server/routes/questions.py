"""Routes for questions, stored releases and models. They offer the methods of `Session`."""

from typing import Annotated, Any

from fastapi import Path, Request, Response
from pydantic import Field

from tacit.core import Answer, decode_release, encode_budget_summary, encode_catalog
from tacit.errors import UnknownName
from tacit.ml.registry import MODELS, model_named
from tacit.numeric import plain
from tacit.plan import datasets
from tacit.query import FreePreview, FreeQuestion
from tacit.render import fields
from tacit.server.guarded_route import log_fields, new_router, open_to
from tacit.server.identity import Caller
from tacit.server.messages import (
    AllTables,
    Calling,
    Door,
    PricedQuestion,
    QuestionBody,
    RequestKey,
    Sent,
    negotiate_media_type,
    release_response,
)
from tacit.server.paid_answers import PaidAnswers
from tacit.server.routes.answers import list_answer
from tacit.server.token_policy import Role
from tacit.session import (
    Curator,
    PaidQuestion,
    Preview,
    Session,
    certificate_for,
    paid_fit,
    paid_question,
)
from tacit.session import Question as Asked

router = new_router()


@router.get("/v1/datasets", **open_to(Role.ANALYST, Role.OWNER, Role.AUDITOR))
def list_datasets(session: Door, caller: Calling) -> dict[str, Any]:
    """Return the datasets in the token's scope, as owners declared them. No data is read."""
    return encode_catalog(session.catalog) | {"asked_by": caller.principal}


@router.post("/v1/quote", **open_to(Role.ANALYST, Role.OWNER))
def quote(given: PricedQuestion, session: Door, caller: Calling) -> dict[str, Any]:
    """Return the price of a question and the margin of error to expect. No data is read.

    This is free. Without an amount, the question is priced at a tenth of the budget. Errors
    that depend on the number of rows in a group are reported for groups of ``assume_size``.
    """
    question = question_of(given, session, caller)
    return _preview_json(question.quote(**given.amounts))


@router.post("/v1/explain", **open_to(Role.ANALYST, Role.OWNER))
def explain(given: QuestionBody, session: Door, caller: Calling) -> dict[str, str]:
    """Explain how a question would be answered. This is free, and no data is read."""
    return {"explained": question_of(given, session, caller).explain()}


@router.post("/v1/ask", **open_to(Role.ANALYST))
async def ask(
    given: PricedQuestion,
    request: Request,
    session: Door,
    caller: Calling,
    key: RequestKey = None,
) -> Response:
    """Answer a question. It is charged before any data is read; the same again is free.

    With an Idempotency-Key, the same request sent again returns the same bytes, or reports that
    the answer was lost. It is never charged twice.
    """
    kind, amounts = negotiate_media_type(request), given.amounts
    priced: list[Asked] = []

    def prepare() -> PaidQuestion[Answer] | Response:
        question = question_of(given, session, caller)
        if isinstance(question, FreeQuestion):
            return release_response(question.ask(), kind)
        priced.append(question)
        if caller.scope.most is not None:
            caller.scope.check_loss(question.loss(**amounts), question.status())
        return paid_question(question, **amounts, request=key)

    def respond(answer: Answer) -> Response:
        log_fields(request)["charge"] = answer.receipt.hex()
        list_answer(request, priced[0], answer)
        return release_response(answer, kind)

    answers: PaidAnswers = request.app.state.paid
    return await answers.answer(request.state.waiting, prepare, respond)


def question_of(given: QuestionBody, session: Session, caller: Caller) -> Asked | FreeQuestion:
    """Return the question that is asked, whose datasets must be in the scope of the token."""
    question = session.sql(given.sql)
    named = datasets(question.plan.source) if isinstance(question, Asked) else question.datasets
    caller.scope.check_datasets(named, session.catalog)
    return question


def _preview_json(preview: Preview | FreePreview) -> dict[str, Any]:
    return {
        "columns": fields(preview.columns),
        "notes": preview.notes,
        "errors": [
            {
                "name": each.name,
                "always": None if each.always is None else plain(each.always),
                "by_size": [[size, plain(error)] for size, error in each.by_size],
                "by_table": [[name, plain(error)] for name, error in each.by_table],
            }
            for each in preview.errors
        ],
        "advice": [str(each) for each in preview.advice],
        "standing": encode_budget_summary(preview.standing),
    }


# ------------------------------------------------------------------ stored releases

Key = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]


@router.get("/v1/releases/{release_key}", **open_to(Role.ANALYST, Role.OWNER))
def release(
    release_key: Key, request: Request, curator: AllTables, caller: Calling
) -> Response:
    """Return a stored release, to the analyst who was charged for it and to owners.

    The release is returned as it was stored, before post-processing such as sorting, division
    or LIMIT.
    """
    kind, key = negotiate_media_type(request), bytes.fromhex(release_key)
    stored = curator.home.ledger.stored_body(key)
    found = None if stored is None else decode_release(stored)
    if found is None or not _may_read(caller, found.guarantee.population.name, key, curator):
        raise UnknownName("There is no release with this key that you may read.")
    return release_response(found, kind)


PAGE = "text/html"


@router.get(
    "/v1/releases/{release_key}/certificate",
    **open_to(Role.ANALYST, Role.OWNER, lane="audit"),  # its odds take a second to compute
)
def certificate(
    release_key: Key, request: Request, curator: AllTables, caller: Calling
) -> Response:
    """Return the signed certificate of a stored release, to those who may read the release.

    It is JSON, or an HTML page if the Accept header names text/html. Both are verified offline
    by `tacit verify`. This is free. For owners it has the newest entry of the chain.
    """
    stored = curator.home.ledger.stored_body(bytes.fromhex(release_key))
    found = None if stored is None else decode_release(stored)
    if found is None or not _may_read(
        caller, found.guarantee.population.name, bytes.fromhex(release_key), curator
    ):
        raise UnknownName("There is no release with this key that you may read.")
    made = certificate_for(curator, found.receipt, placed=caller.role is Role.OWNER)
    if PAGE in request.headers.get("accept", ""):
        return Response(made.page, media_type=PAGE)
    return Response(made.text, media_type="application/json")


def _may_read(caller: Caller, population: str, key: bytes, curator: Curator) -> bool:
    """Return whether the caller may read a release about ``population``.

    A release does not name its dataset, so a token for some datasets of a population may read
    none of its releases.
    """
    if not caller.scope.covers(population, curator.catalog):
        return False
    paid = curator.home.ledger.was_charged
    return caller.role is Role.OWNER or paid(caller.principal, population, key)


# ------------------------------------------------------------------ models
# A request names a model and its public settings, and the response holds the parameters. No
# code is sent in either direction.

MOST_FEATURES = 1000

Name = Annotated[str, Field(max_length=200)]


class GivenFit(Sent):
    """A model by name, with its settings, and the columns of a dataset to fit it to."""

    model: Annotated[str, Field(max_length=200, json_schema_extra={"enum": list(MODELS)})]
    settings: Annotated[dict[str, Any], Field(default_factory=dict)]
    dataset: Name
    features: Annotated[list[Name], Field(min_length=1, max_length=MOST_FEATURES)]
    target: Name | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """The arguments of a session's method `fit`, apart from the model."""
        return {"dataset": self.dataset, "features": self.features, "target": self.target}


@router.post("/v1/fit/quote", **open_to(Role.ANALYST, Role.OWNER))
def quote_fit(given: GivenFit, session: Door, caller: Calling) -> dict[str, Any]:
    """Return the price of fitting a model. This is free, and no data is read."""
    preview = session.quote(_model(given, session, caller), **given.columns)
    standing = encode_budget_summary(preview.standing)
    return {"standing": standing, "assumptions": preview.assumptions}


@router.post("/v1/fit", **open_to(Role.ANALYST))
async def fit(
    given: GivenFit,
    request: Request,
    session: Door,
    caller: Calling,
    key: RequestKey = None,
) -> Response:
    """Fit a model. It is charged before any data is read; the same again is free.

    The parameters are a release of three columns: the name of a parameter, the index in it, and
    the value. With an Idempotency-Key, the same request sent again is never charged twice.
    """
    kind = negotiate_media_type(request)

    def prepare() -> PaidQuestion[Any]:
        model = _model(given, session, caller)
        if caller.scope.most is not None:
            people = session.catalog.dataset(given.dataset).population
            cost = session.quote(model, **given.columns).standing.cost
            caller.scope.check_loss(cost, session.status(people))
        curator = session._curator  # noqa: SLF001 - a session in steps
        return paid_fit(curator, model, **given.columns, request=key)

    def respond(fitted: Any) -> Response:
        release = fitted.release_
        log_fields(request)["charge"] = release.receipt.hex()
        return release_response(release, kind)

    answers: PaidAnswers = request.app.state.paid
    return await answers.answer(request.state.waiting, prepare, respond)


def _model(given: GivenFit, session: Session, caller: Caller) -> Any:
    session.catalog.dataset(given.dataset)
    caller.scope.check_datasets((given.dataset,), session.catalog)
    plugins = session._curator.plugins  # noqa: SLF001 - named by the project file
    return model_named(given.model, given.settings, plugins=plugins)
