"""The FastAPI application, and the function that serves a project with it.

`make_app` puts all routes behind the authentication of `tacit.server.guarded_route`, and gives
every error one JSON form (`tacit.server.refusal`). `serve` runs the application with uvicorn
until it is stopped. The process that serves holds the keys of the store, so it first makes
itself unreadable for its worker processes.
"""

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
from tacit.session import Curator, Reloader, alarm, open_for_serving

ROUTERS = (questions.router, owners.router)
HANDLED = (Refused, TacitError, RequestValidationError, HTTPException, Exception)
"""Kinds of exceptions that are answered with an error in our JSON form."""


def make_app(
    curator: Curator,
    serving: Serving = USUAL,
    clock: Callable[[], int] = wall_clock,
    reload: Reload = stays,
) -> FastAPI:
    """Return the application for one curator.

    When owners declare something else, ``reload`` returns the curator that replaces it. The
    application closes its curators when it ends.
    """

    def log(line: dict[str, Any]) -> None:
        app.state.write(json.dumps(line) + "\n")

    on_incident = alarm(log, serving.on_failure)
    current = Current(curator, reload, lambda each: each.telling(on_incident), log)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        current.start()
        yield
        current.close()

    app = FastAPI(
        title="Tacit",
        version=version("tacit"),
        description="Query personal data with differential privacy.",
        openapi_url=None,  # served by a route of our own, because every route declares roles
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.write = outliving(sys.stdout.write)
    people = None if serving.oidc is None else OidcIdentity(serving.oidc, clock)
    app.state.current = current
    app.state.clock = clock
    app.state.gate = Gate(current, clock, people)
    app.state.rate = Rate(serving.requests_per_minute)
    app.state.traffic = RequestMetrics()
    for kind in HANDLED:
        app.add_exception_handler(kind, _refuse)
    for router in ROUTERS:
        app.include_router(router)
    return app


def watched_app(app: FastAPI, write: Write = sys.stdout.write) -> ASGIApp:
    """Wrap ``app`` in its access log, which also replaces the texts of unexpected errors."""
    app.state.write = outliving(write)
    return AccessLog(app, app.state.traffic, write)


async def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, DeclarationsChanged):
        request.app.state.current.look()
    return refusal_of(error).response()


# ------------------------------------------------------------------ serve

GRACE_SECONDS = 60
"""Seconds that running questions may still take after the server is asked to stop."""


class Listening(uvicorn.Server):
    """A uvicorn server that writes its host and port in the first line of the log."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, and log the host and port."""
        await super().startup(sockets)
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        _write(
            json.dumps({"at": time.time_ns() // 1_000_000, "host": host, "port": port}) + "\n"
        )


def serve(
    project: Path, host: str, port: int, environment: Mapping[str, str] = os.environ
) -> None:
    """Serve ``project`` over HTTP until the process is asked to stop.

    Raise an error if the project file has changes that are not recorded in the ledger. Port 0
    selects any free port.
    """
    make_undumpable()  # so that no worker process can read this one, which holds the keys
    curator, serving = open_for_serving(project, environment, _print_progress)
    app = make_app(curator, serving, reload=Reloader(project, environment))
    config = uvicorn.Config(
        watched_app(app, _write),
        host=host,
        port=port,
        http="h11",  # other parsers answer a malformed request with texts of their own
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    gc.freeze()  # loaded modules stay; collecting them again would delay some answers
    with suppress(KeyboardInterrupt):
        Listening(config).run()
    gc.unfreeze()  # so that objects are collected at the end


def _print_progress(line: str) -> None:
    """Print to stderr what the server does before it listens; the log starts after that."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _write(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()
