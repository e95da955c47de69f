"""The app: every route, behind the guard, in one shape."""

import gc
import json
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from tacit.errors import DeclarationsChanged, TacitError
from tacit.ledger import wall_clock
from tacit.project import USUAL, Serving
from tacit.query import make_undumpable
from tacit.server.current_curator import Current, Reload, stays
from tacit.server.identity import Gate, OidcIdentity
from tacit.server.middleware import AccessLog, Rate, RequestMetrics, Write, outliving
from tacit.server.refusal import Refused, refusal_of
from tacit.server.routes import owners, questions
from tacit.session import Curator, Reloading, alarm, served

ROUTERS = tuple(part.router for part in (questions, owners))
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
    people = None if serving.oidc is None else OidcIdentity(serving.oidc, clock)
    app.state.current = current
    app.state.clock = clock
    app.state.gate = Gate(current, clock, people)
    app.state.rate = Rate(serving.requests_per_minute)
    app.state.traffic = RequestMetrics()
    for kind in TOLD:
        app.add_exception_handler(kind, _refuse)
    for router in ROUTERS:
        app.include_router(router)
    return app


def watched_app(app: FastAPI, write: Write = sys.stdout.write) -> ASGIApp:
    """The same with its log, and with nothing that leaves in other words than ours."""
    app.state.write = outliving(write)
    return AccessLog(app, app.state.traffic, write)


async def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, DeclarationsChanged):
        request.app.state.current.look()
    return refusal_of(error).response()


# ------------------------------------------------------------------ serve
# Serve a project over HTTP until it is told to stop.

GRACE_SECONDS = 60
"""How long questions that are being answered may take when the server is told to stop."""


class Listening(uvicorn.Server):
    """A server that says where it listens, in the first line of its log."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        _write(
            json.dumps({"at": time.time_ns() // 1_000_000, "host": host, "port": port}) + "\n"
        )


def serve(
    project: Path, host: str, port: int, environment: Mapping[str, str] = os.environ
) -> None:
    """Serve ``project``; refused where the ledger does not hold what its file says.

    Port 0 stands for any that is free.
    """
    make_undumpable()  # so that no worker can read this process, which holds the keys
    curator, serving = served(project, environment, _tell)
    app = make_app(curator, serving, reload=Reloading(project, environment))
    config = uvicorn.Config(
        watched_app(app, _write),
        host=host,
        port=port,
        http="h11",  # others refuse a request that they cannot read in words of their own
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    gc.freeze()  # what was loaded stays: walking it again would hold up some answers
    with suppress(KeyboardInterrupt):
        Listening(config).run()
    gc.unfreeze()  # for what is let go of at the end


def _tell(line: str) -> None:
    """Say to whoever starts the server what it does before it listens; the log begins then."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _write(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()
