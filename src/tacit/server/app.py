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
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from tacit.errors import DeclarationsChanged, TacitError
from tacit.ledger import wall_clock
from tacit.project import OPEN, USUAL, Serving
from tacit.query import make_undumpable
from tacit.server.answer_list import AnswerList
from tacit.server.connections import ACCEPT_AT_ONCE, lengthen_backlog, limited_protocol
from tacit.server.console import CodeFlow, EntryLinks, console_app
from tacit.server.current_curator import Current, Reload, stays
from tacit.server.grants import check_mosts
from tacit.server.identity import Gate, OidcIdentity
from tacit.server.laboratory import Laboratory
from tacit.server.lanes import HELD, Lanes
from tacit.server.middleware import (
    AccessLog,
    BackgroundLog,
    Rate,
    RequestMetrics,
    Write,
    outliving,
)
from tacit.server.notices import Notifier, senders_of
from tacit.server.operators import (
    EngineTimes,
    OperatorMetrics,
    OperatorsListener,
    operators_app,
)
from tacit.server.paid_answers import PaidAnswers
from tacit.server.readiness import Readiness
from tacit.server.refusal import Refused, refusal_of
from tacit.server.routes import (
    answers,
    attacks,
    curves,
    governance,
    history,
    limits,
    oversight,
    owners,
    publications,
    questions,
    setup,
    stored_answers,
)
from tacit.server.setup_drafts import SetupDrafts
from tacit.server.time_alarm import watch_times
from tacit.server.turns import InTurn
from tacit.session import Curator, KnownExamples, Reloader, alarm, open_for_serving, signing_key
from tacit.store import SigningKey

ROUTERS = (
    questions.router,
    stored_answers.router,
    curves.router,
    answers.router,
    owners.router,
    governance.router,
    history.router,
    oversight.router,
    attacks.router,
    publications.router,
    setup.router,
    limits.router,
)
CONSOLE = "/console"
HANDLED = (Refused, TacitError, RequestValidationError, HTTPException, Exception)
"""Kinds of exceptions that are answered with an error in our JSON form."""


def make_app(
    curator: Curator,
    serving: Serving = USUAL,
    clock: Callable[[], int] = wall_clock,
    reload: Reload = stays,
    environment: Mapping[str, str] = os.environ,
) -> FastAPI:
    """Return the application for one curator.

    When owners declare something else, ``reload`` returns the curator that replaces it. The
    application closes its curators when it ends. The address of a webhook may be in the
    ``environment``.
    """

    def log(line: dict[str, Any]) -> None:
        app.state.write(json.dumps(line) + "\n")

    def tell_owners(what: str) -> None:
        notifier.tell(what)

    on_incident = alarm(log, serving.on_failure)
    times = EngineTimes()
    watch = watch_times(times, serving.time, log, tell_owners)

    def arrange(each: Curator) -> Curator:
        return each.telling(on_incident).watching(watch)

    current = Current(curator, reload, arrange, log)
    notifier = Notifier(current, senders_of(serving.notify, environment), log)

    lanes, readiness = Lanes(), Readiness(current, log=log, notify=tell_owners)
    people = None if serving.oidc is None else OidcIdentity(serving.oidc, clock, log=log)
    leave_one = serving.time is not None and serving.time.kind != OPEN
    paid = PaidAnswers(
        lanes, serving.limits, current.places(), leave_one=leave_one, places_now=current.places
    )
    traffic = RequestMetrics()
    metrics = OperatorMetrics(traffic, paid.queue, times)
    operators = OperatorsListener(serving.operators, operators_app(metrics.text, readiness))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        current.start()
        readiness.start()
        notifier.start()
        if people is not None:
            people.keys.start()
        async with operators.listen():
            yield
        if people is not None:
            people.keys.close()
        for each in (notifier, readiness, app.state.answer_list, current, paid, lanes):
            each.close()

    app = FastAPI(
        title="Tacit",
        version=version("tacit"),
        description="Query personal data with differential privacy.",
        openapi_url=None,  # served by a route of our own, because every route declares roles
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.describe = cache(lambda: bytes(JSONResponse(app.openapi()).body))
    app.state.write = outliving(sys.stdout.write)
    if serving.oidc is not None:
        check_mosts(serving.oidc, curator.catalog, curator.home.ledger)
    app.state.current = current
    app.state.lanes = lanes
    app.state.paid = paid
    app.state.readiness = readiness
    app.state.clock = clock
    app.state.setup = None  # `serve` allows it
    app.state.gate = Gate(current, clock, people, serving.setup)
    app.state.rate = Rate(serving.requests_per_minute)
    app.state.traffic = traffic
    app.state.operators = operators
    for kind in HANDLED:
        app.add_exception_handler(kind, _refuse)
    _add_routes(app, serving, environment)
    return app


def _add_routes(app: FastAPI, serving: Serving, environment: Mapping[str, str]) -> None:
    """Add the routes of the API, and the console, whose pages call them."""
    app.state.laboratory = Laboratory()
    app.state.examples, app.state.answer_list = KnownExamples(), AnswerList()
    for router in ROUTERS:
        app.include_router(router)
    console, issuer, flow = serving.console, serving.oidc, None
    if console.flow is not None and console.address is not None and issuer is not None:
        flow = CodeFlow(console.flow, console.address, issuer.issuer, environment)
    app.state.console = console_app(app, console.address, flow)
    app.mount(CONSOLE, app.state.console)


def watched_app(app: FastAPI, write: Write = sys.stdout.write) -> ASGIApp:
    """Wrap ``app`` in its access log, which also replaces the texts of unexpected errors."""
    app.state.write = outliving(write)
    return AccessLog(InTurn(app, app.state.lanes.turns), app.state.traffic, write)


async def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, DeclarationsChanged):
        request.app.state.current.look()
    refusal = refusal_of(error)
    if refusal.told.code in HELD:
        await request.app.state.lanes.held.wait()
    return refusal.response()


# ------------------------------------------------------------------ serve

GRACE_SECONDS = 60
"""Seconds that running questions may still take after the server is asked to stop."""

SWITCH_SECONDS = 0.001
"""Longest time for which a busy thread keeps Python before another may run.

With Python's own 5 ms, the event loop would wait 50 ms behind ten busy threads.
"""


class Listening(uvicorn.Server):
    """A uvicorn server that writes its host and port in the first line of the log.

    The line has the address of the operators' port too, if there is one.
    """

    operators: OperatorsListener | None = None
    greet: Callable[[str], None] = staticmethod(lambda _: None)
    """Called with the address of the server once it listens."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, and log the host and port."""
        await super().startup(sockets)
        for each in self.servers[0].sockets:
            lengthen_backlog(each)
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        line = {"at": time.time_ns() // 1_000_000, "host": host, "port": port}
        if self.operators is not None and self.operators.address is not None:
            line["operators"] = self.operators.address
        _write(json.dumps(line) + "\n")
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{port}"
        _print_progress(f"Tacit answers at {address}. Stop it with Ctrl+C.")
        self.greet(address)


def serve(
    project: Path,
    host: str,
    port: int,
    environment: Mapping[str, str] = os.environ,
    offer: Mapping[str, str] | None = None,
) -> None:
    """Serve ``project`` over HTTP until the process is asked to stop.

    Raise an error if the project file has changes that are not recorded in the ledger. Port 0
    selects any free port. With an ``offer`` of tokens, by the name of who has each, a link is
    printed that signs in with one of them, once and within a minute.
    """
    make_undumpable()  # so that no worker process can read this one, which holds the keys
    curator, serving = open_for_serving(project, environment, _print_progress)
    reload = Reloader(project, environment)
    app = make_app(curator, serving, reload=reload, environment=environment)
    if serving.setup is not None:
        app.state.setup = SetupDrafts(project, serving.setup, environment)
    if serving.oidc is not None:
        app.state.installation = _installation_key(project.parent)
    log = BackgroundLog(_write)
    config = uvicorn.Config(
        watched_app(app, log),
        host=host,
        port=port,
        # other parsers than h11 answer a malformed request with texts of their own
        http=limited_protocol(serving.limits.connections),
        ws="none",
        backlog=ACCEPT_AT_ONCE,
        # warnings are about malformed requests, which anyone can send in any number
        log_level="error",
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    app.state.describe()  # it is computed once, and not on the event loop
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()  # loaded modules stay; collecting them again would delay some answers
    server = Listening(config)
    server.operators = app.state.operators
    if offer is not None:
        links: EntryLinks = app.state.console.state.entry_links
        server.greet = partial(_print_link, links, offer)
    with suppress(KeyboardInterrupt):
        server.run()
    log.close()
    gc.unfreeze()  # so that objects are collected at the end


def _installation_key(place: Path) -> SigningKey | None:
    """Return the key of this installation, or None where its folder cannot be used."""
    try:
        return signing_key(place)
    except (TacitError, OSError) as error:
        reason = str(error) if isinstance(error, TacitError) else type(error).__name__
        _print_progress(f"Acts of owners who sign in are not signed: {reason}")
        return None


def _print_progress(line: str) -> None:
    """Print to stderr, for people, what the server does until it listens, and its address."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _print_link(links: EntryLinks, offer: Mapping[str, str], address: str) -> None:
    """Print a link that signs in without a token, once for each person of the offer."""
    _print_progress(
        f"\nOpen within a minute: {address}{CONSOLE}/entry?code={links.issue(offer)}"
    )
    _print_progress(f"Later, sign in with a token from above at {address}{CONSOLE}/\n")


def _write(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()
