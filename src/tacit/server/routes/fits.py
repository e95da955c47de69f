"""Models over HTTP: a name and public settings come in, parameters go out; never code."""

from typing import Annotated, Any

from fastapi import Request, Response
from pydantic import Field

from tacit.core.stored_standing import encode as encode_standing
from tacit.ml.registry import MODELS, model_named
from tacit.server.answered import answered, wanted
from tacit.server.caller import Caller
from tacit.server.given import Calling, Door, RequestKey, Sent
from tacit.server.role import Role
from tacit.server.route import new_router, open_to, run_paid, watched
from tacit.session.session import Session

router = new_router()

MOST_FEATURES = 1000

Name = Annotated[str, Field(max_length=200)]


class GivenFit(Sent):
    """A model by its name and its settings, and the columns of a dataset it is fitted to."""

    model: Annotated[str, Field(max_length=200, json_schema_extra={"enum": list(MODELS)})]
    settings: Annotated[dict[str, Any], Field(default_factory=dict)]
    dataset: Name
    features: Annotated[list[Name], Field(min_length=1, max_length=MOST_FEATURES)]
    target: Name | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """What a session is told beside the model."""
        return {"dataset": self.dataset, "features": self.features, "target": self.target}


@router.post("/v1/fit/quote", **open_to(Role.ANALYST, Role.OWNER))
def quote_fit(given: GivenFit, session: Door, caller: Calling) -> dict[str, Any]:
    """What fitting a model would cost: free, and without data."""
    preview = session.quote(_model(given, session, caller), **given.columns)
    return {
        "standing": encode_standing(preview.standing),
        "assumptions": preview.assumptions,
    }


@router.post("/v1/fit", **open_to(Role.ANALYST))
async def fit(
    given: GivenFit,
    request: Request,
    session: Door,
    caller: Calling,
    key: RequestKey = None,
) -> Response:
    """The parameters of a model, paid for before any data is touched; the same again is free.

    They are a release of three columns: the name of a parameter, a place in it, and the number
    there. With an Idempotency-Key, the same request sent again is never charged twice.
    """
    return await run_paid(lambda: _fitted(given, request, session, caller, key))


def _fitted(
    given: GivenFit, request: Request, session: Session, caller: Caller, key: str | None
) -> Response:
    kind, model = wanted(request), _model(given, session, caller)
    if caller.scope.most is not None:
        people = session.catalog.dataset(given.dataset).population
        cost = session.quote(model, **given.columns).standing.cost
        caller.scope.check_loss(cost, session.status(people))
    release = session.fit(model, **given.columns, request=key).release_
    watched(request)["charge"] = release.receipt.hex()
    return answered(release, kind)


def _model(given: GivenFit, session: Session, caller: Caller) -> Any:
    session.catalog.dataset(given.dataset)
    caller.scope.check_datasets((given.dataset,), session.catalog)
    plugins = session._curator.plugins  # noqa: SLF001 - named by the project file
    return model_named(given.model, given.settings, plugins=plugins)
