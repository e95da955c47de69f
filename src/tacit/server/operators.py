"""The port of operators: metrics with the times of engines, apart from everybody else's port.

A server that delays its answers hides how long its engine took, from everyone who asks.
Operators need exactly that time: to see that a table became slow, or to choose `places`. So
they have a listener of their own, at the address ``[server] operators``. It answers three
routes, and nothing about any question:

* ``/metrics``: what the public port has, the occupancy of the queue, and a histogram of the
  seconds from a question's start to its engine's result.
* ``/health`` and ``/ready``, as on the public port.

It asks for no token, because it must not depend on the store: bind it to loopback, or to a
network that only operators reach. Anyone who reads these metrics and also asks questions learns
the times that delays hide.

The listener runs on the event loop of the public port, so that its ``/health`` says whether
this loop still answers. It has connections of its own, which no flood of the public port takes
away.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tacit.errors import InvalidValue
from tacit.query import TimeWatch
from tacit.server.connections import limited_protocol
from tacit.server.middleware import BOUNDS, RequestMetrics, SecondsHistogram, escape_label
from tacit.server.question_queue import QuestionQueue
from tacit.server.readiness import Readiness
from tacit.server.refusal import Refused, refusal_of

PROMETHEUS = "text/plain; version=0.0.4"
"""The media type of metrics."""

ENGINE_BOUNDS = (0.001, *BOUNDS, 30.0, 60.0)
"""Upper bounds of the buckets of engine times, in seconds."""

CONNECTIONS = 20
"""Open connections of operators' programs."""

END_SECONDS = 1
"""Seconds that a response to an operator may still take when the server ends."""


class EngineTimes(TimeWatch):
    """The seconds from questions' starts to their engines' results, by engine.

    They are shown on the port of operators, and nowhere else.

    Example:
        >>> times = EngineTimes()
        >>> times.note_engine("warehouse", 0.25)
        >>> times.lines()[-1]
        'tacit_engine_seconds_count{engine="warehouse"} 1'
    """

    def __init__(self) -> None:
        self._seconds = SecondsHistogram("tacit_engine_seconds", "engine", ENGINE_BOUNDS)

    def note_engine(self, engine: str, seconds: float) -> None:
        """Count the time of one question."""
        self._seconds.add(engine, seconds)

    def lines(self) -> list[str]:
        """Return the histogram as lines of the text format of Prometheus."""
        return self._seconds.lines()


class OperatorMetrics:
    """Everything that operators see: requests, the queue, and the times of engines."""

    def __init__(
        self, traffic: RequestMetrics, queue: QuestionQueue, times: EngineTimes
    ) -> None:
        self._traffic = traffic
        self._queue = queue
        self._times = times

    def text(self) -> str:
        """Return the metrics in the text format of Prometheus.

        It is called on the event loop, on which the queue changes.
        """
        lines = [*self._queue_lines(), *self._times.lines()]
        return self._traffic.text() + "\n".join(lines) + "\n"

    def _queue_lines(self) -> Iterator[str]:
        """Yield the numbers of unanswered and waiting questions, and of places by state."""
        yield "# TYPE tacit_questions gauge"
        yield f"tacit_questions {self._queue.inside}"
        held = [(escape_label(each), self._queue.places(each)) for each in self._queue.engines]
        yield "# TYPE tacit_questions_waiting gauge"
        for name, places in held:
            yield f'tacit_questions_waiting{{engine="{name}"}} {places.waiting}'
        yield "# TYPE tacit_places gauge"
        for name, places in held:
            yield f'tacit_places{{engine="{name}",state="free"}} {places.free}'
            taken = places.count - places.free
            yield f'tacit_places{{engine="{name}",state="held"}} {taken}'


def operators_app(metrics: Callable[[], str], readiness: Readiness) -> ASGIApp:
    """Return the application of the operators' port: three routes, which need no token."""

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(_: Request) -> Response:
        return JSONResponse({"status": "ready", **readiness.check()})

    async def show_metrics(_: Request) -> Response:
        return Response(metrics(), media_type=PROMETHEUS)

    async def refuse(_: Request, error: Exception) -> Response:
        return refusal_of(error).response()

    routes = [
        Route("/health", health),
        Route("/ready", ready),
        Route("/metrics", show_metrics),
    ]
    kinds = (Refused, HTTPException, Exception)
    return Starlette(routes=routes, exception_handlers=dict.fromkeys(kinds, refuse))


# ------------------------------------------------------------------ listener


class OperatorsListener:
    """The listener of the operators' port, if it has an address, which is taken at once.

    Raise `InvalidValue` if the address cannot be used. Port 0 selects any free port.
    """

    def __init__(self, address: tuple[str, int] | None, app: ASGIApp) -> None:
        self._app = app
        self._socket: socket.socket | None = None
        if address is None:
            return
        host, port = address
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server(address, family=family)
        except OSError as error:
            raise InvalidValue(
                f"The port of operators cannot be opened at {host}, port {port}. Choose "
                "another address in [server] operators. The server did not start."
            ) from error

    @property
    def address(self) -> str | None:
        """The host and the port at which operators are served; None if they are not."""
        if self._socket is None:
            return None
        host, port = self._socket.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[None]:
        """Answer operators on this event loop for the time of the block."""
        if self._socket is None:
            yield
            return
        config = uvicorn.Config(
            self._app,
            http=limited_protocol(CONNECTIONS),
            log_config=None,  # uvicorn's loggers belong to the public port
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=END_SECONDS,
        )
        server = ServerWithoutSignals(config)
        running = asyncio.create_task(server.serve([self._socket]))
        try:
            yield
        finally:
            server.should_exit = True
            await running


class ServerWithoutSignals(uvicorn.Server):
    """A second uvicorn server of a process, whose first server handles the signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the first server."""
        yield
