"""The app: every route, behind the guard, in one shape."""

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from tacit.errors import DeclarationsChanged, TacitError
from tacit.ledger.ledger import wall_clock
from tacit.project.serving import USUAL, Serving
from tacit.server.caller import Gate
from tacit.server.current import Current, Reload, stays
from tacit.server.oidc import People
from tacit.server.rate import Rate
from tacit.server.refusal import Refused, refusal_of
from tacit.server.routes import budgets, fits, operate, questions, releases, tokens
from tacit.server.traffic import Traffic
from tacit.server.watch import Watch, Write, outliving
from tacit.session.alarm import alarm
from tacit.session.curator import Curator

ROUTERS = tuple(part.router for part in (questions, fits, releases, budgets, tokens, operate))
TOLD = (Refused, TacitError, RequestValidationError, HTTPException, Exception)


def make_app(
    curator: Curator,
    serving: Serving = USUAL,
    clock: Callable[[], int] = wall_clock,
    reload: Reload = stays,
) -> FastAPI:
    """The app over one curator, and over those that ``reload`` gives it when owners declare.

    It closes them when it ends.
    """

    def log(line: dict[str, Any]) -> None:
        app.state.write(json.dumps(line) + "\n")

    told = alarm(log, serving.on_failure)
    current = Current(curator, reload, lambda each: each.telling(told), log)

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        current.start()
        yield
        current.close()

    app = FastAPI(
        title="Tacit",
        version=version("tacit"),
        description="Ask about people without telling on any of them.",
        openapi_url=None,  # a route of ours, since every route says for whom it is
        docs_url=None,
        redoc_url=None,
        lifespan=living,
    )
    app.state.write = outliving(sys.stdout.write)
    people = None if serving.oidc is None else People(serving.oidc, clock)
    app.state.current = current
    app.state.clock = clock
    app.state.gate = Gate(current, clock, people)
    app.state.rate = Rate(serving.requests_per_minute)
    app.state.traffic = Traffic()
    for kind in TOLD:
        app.add_exception_handler(kind, _refuse)
    for router in ROUTERS:
        app.include_router(router)
    return app


def watched_app(app: FastAPI, write: Write = sys.stdout.write) -> ASGIApp:
    """The same with its log, and with nothing that leaves in other words than ours."""
    app.state.write = outliving(write)
    return Watch(app, app.state.traffic, write)


async def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, DeclarationsChanged):
        request.app.state.current.look()
    return refusal_of(error).response()
