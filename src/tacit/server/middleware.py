"""Rate limit, request metrics and access log.

None of them records a part of a question: the log and the metrics hold the template of a route
and never its values.
"""

import json
import time
from collections import Counter
from collections.abc import Callable
from threading import Lock
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.server.refusal import Refusal, Refused, Told, refusal_of

MOST_BUCKETS = 10_000
"""Number of callers whose buckets are stored; the least recently used one is dropped first."""


class Rate:
    """A rate limit by token bucket: ``per_minute`` requests of each principal.

    A bucket fills at a steady rate, so a principal may send up to ``per_minute`` requests at
    once after a pause. The limit applies to one process; several processes count separately.

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
        """Take a token of ``principal`` if there is one left, and return whether there was."""
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
        """Raise `Refused` if ``principal`` has sent too many requests."""
        if not self.take(principal):
            told = Told(
                code="too_many_requests",
                message="You have sent too many requests.",
                allowed=f"{self._most:.0f} requests a minute",
                next="Wait, and send the same request again.",
            )
            seconds = -(-60 // self._most)
            raise Refused(Refusal(429, told, {"Retry-After": f"{seconds:.0f}"}))


# ------------------------------------------------------------------ metrics

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets of the latency histogram, in seconds."""


class RequestMetrics:
    """Counters of requests by route and status, and their latencies, for Prometheus.

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
        """Count a request to ``route``, which is a template without values."""
        with self._lock:
            self._requests[route, status] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]
            for bound in BOUNDS:
                self._within[route, bound] += seconds <= bound

    def text(self) -> str:
        """Return the counters in the text format of Prometheus."""
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


# ------------------------------------------------------------------ access log

UNMATCHED = "-"
"""The route that is logged for a request that matches no route; its path is not logged."""

Write = Callable[[str], Any]


def outliving(write: Write) -> Write:
    """Wrap ``write`` so that it ignores errors of the log.

    A pipe whose reader has gone, a full disk or a closed stream must not abort a request that
    was charged, or the thread that polls the declarations.
    """

    def write_or_ignore(line: str) -> object:
        try:
            return write(line)
        except (OSError, ValueError):
            return None

    return write_or_ignore


class AccessLog:
    """ASGI middleware that logs and counts each request, without any part of its question.

    It also answers an exception that no handler caught with our own text, because the text of
    the exception may contain a value of the data.
    """

    def __init__(self, app: ASGIApp, traffic: RequestMetrics, write: Write) -> None:
        self._app = app
        self._traffic = traffic
        self._write = outliving(write)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, and log it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, facts = time.monotonic(), scope.setdefault("tacit", {})

        async def send_noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                facts["status"] = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        except Exception as error:  # noqa: BLE001 - its text may hold a value, its type cannot
            facts["failed"] = type(error).__name__
            if "status" not in facts:
                await refusal_of(error).response()(scope, receive, send_noted)
        finally:
            self._log(scope, facts, time.monotonic() - began)

    def _log(self, scope: Scope, facts: dict[str, Any], seconds: float) -> None:
        route, status = facts.get("route", UNMATCHED), facts.get("status", 0)
        self._traffic.add(route, status, seconds)
        line = {
            "at": time.time_ns() // 1_000_000,
            "method": scope["method"] if route != UNMATCHED else UNMATCHED,
            "route": route,
            "status": status,
            "principal": facts.get("principal"),
            "ms": round(1000 * seconds, 1),
            "charge": facts.get("charge"),
            "failed": facts.get("failed"),
        }
        self._write(
            json.dumps({name: part for name, part in line.items() if part is not None}) + "\n"
        )
