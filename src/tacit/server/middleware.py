"""How often a caller may call: a bucket of tokens each, that fills at a steady pace."""

import json
import time
from collections import Counter
from collections.abc import Callable
from threading import Lock
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.server.refusal import Refusal, Refused, Told, refusal_of

MOST_BUCKETS = 10_000
"""Callers that are remembered; those who waited longest are forgotten first."""


class Rate:
    """At most ``per_minute`` requests of a principal, and as many at once after a pause.

    It holds for one process: behind several, each counts for itself.

    Example:
        >>> rate = Rate(2, clock=lambda: 0.0)
        >>> rate.take("ann"), rate.take("ann"), rate.take("ann")
        (True, True, False)
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        self._lock = Lock()

    def take(self, principal: str) -> bool:
        """Whether there is a token left for ``principal``, which is then taken."""
        now = self._clock()
        with self._lock:
            left, last = self._buckets.pop(principal, (self._most, now))
            left = min(self._most, left + (now - last) * self._most / 60)
            allowed = left >= 1
            self._buckets[principal] = (left - allowed, now)
            if len(self._buckets) > MOST_BUCKETS:
                self._buckets.pop(next(iter(self._buckets)))
        return allowed

    def check(self, principal: str) -> None:
        """Refuse who calls too often, in one wording."""
        if not self.take(principal):
            told = Told(
                code="too_many_requests",
                message="You call too often.",
                allowed=f"{self._most:.0f} requests a minute",
                next="Wait, and send the same request again.",
            )
            seconds = -(-60 // self._most)
            raise Refused(Refusal(429, told, {"Retry-After": f"{seconds:.0f}"}))


# ------------------------------------------------------------------ traffic
# What goes through the server, counted by route and status: no label is from a question.

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds up to which requests are counted."""


class RequestMetrics:
    """Counters for Prometheus.

    Example:
        >>> traffic = RequestMetrics()
        >>> traffic.add("/v1/ask", 200, 0.004)
        >>> print(traffic.text().splitlines()[1])
        tacit_requests_total{route="/v1/ask",status="200"} 1
    """

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._within: Counter[tuple[str, float]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._lock = Lock()

    def add(self, route: str, status: int, seconds: float) -> None:
        """Count a request to ``route``, which is a template and holds no value."""
        with self._lock:
            self._requests[route, status] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]
            for bound in BOUNDS:
                self._within[route, bound] += seconds <= bound

    def text(self) -> str:
        """The counters in the text format of Prometheus."""
        with self._lock:
            lines = ["# TYPE tacit_requests_total counter"]
            for (route, status), count in sorted(self._requests.items()):
                lines.append(
                    f'tacit_requests_total{{route="{route}",status="{status}"}} {count}'
                )
            lines.append("# TYPE tacit_request_seconds histogram")
            for route, seconds in sorted(self._seconds.items()):
                named = f'route="{route}"'
                total = sum(n for (where, _), n in self._requests.items() if where == route)
                lines += [
                    f'tacit_request_seconds_bucket{{{named},le="{bound}"}} '
                    f"{self._within[route, bound]}"
                    for bound in BOUNDS
                ]
                lines += [
                    f'tacit_request_seconds_bucket{{{named},le="+Inf"}} {total}',
                    f"tacit_request_seconds_sum{{{named}}} {seconds}",
                    f"tacit_request_seconds_count{{{named}}} {total}",
                ]
        return "\n".join(lines) + "\n"


# ------------------------------------------------------------------ watch
# Around the whole app: one line of log a request, and no error that is not in our words.

UNMATCHED = "-"
"""The route of a request that fits none: its path is not repeated."""

Write = Callable[[str], Any]


def outliving(write: Write) -> Write:
    """``write``, where a log that cannot be written any more stops nothing but itself.

    A pipe whose reader has gone, a full disk, or a closed stream must not end a request that
    was paid for, nor the thread that looks for new declarations.
    """

    def written(line: str) -> object:
        try:
            return write(line)
        except (OSError, ValueError):
            return None

    return written


class AccessLog:
    """Logs and counts each request: its route's template, never a part of what was asked."""

    def __init__(self, app: ASGIApp, traffic: RequestMetrics, write: Write) -> None:
        self._app = app
        self._traffic = traffic
        self._write = outliving(write)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, told = time.monotonic(), scope.setdefault("tacit", {})

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                told["status"] = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sent)
        except Exception as error:  # noqa: BLE001 - its words may hold a value, its kind does not
            told["failed"] = type(error).__name__
            if "status" not in told:
                await refusal_of(error).response()(scope, receive, sent)
        finally:
            self._log(scope, told, time.monotonic() - began)

    def _log(self, scope: Scope, told: dict[str, Any], seconds: float) -> None:
        route, status = told.get("route", UNMATCHED), told.get("status", 0)
        self._traffic.add(route, status, seconds)
        line = {
            "at": time.time_ns() // 1_000_000,
            "method": scope["method"] if route != UNMATCHED else UNMATCHED,
            "route": route,
            "status": status,
            "principal": told.get("principal"),
            "ms": round(1000 * seconds, 1),
            "charge": told.get("charge"),
            "failed": told.get("failed"),
        }
        self._write(
            json.dumps({name: part for name, part in line.items() if part is not None}) + "\n"
        )
