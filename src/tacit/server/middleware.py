"""Rate limit, request metrics and access log.

None of them records a part of a question: the log and the metrics hold the template of a route
and never its values. Their times are those from a request to its response. None of them has the
time of an engine, which only operators may see (`tacit.server.operators`).
"""

import json
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from queue import SimpleQueue
from threading import Lock, Thread
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


class SecondsHistogram:
    """A histogram of seconds for each value of one label, for Prometheus.

    Example:
        >>> seconds = SecondsHistogram("tacit_example_seconds", "route", (0.1, 1.0))
        >>> seconds.add("/v1/ask", 0.5)
        >>> for line in seconds.lines():
        ...     print(line)
        # TYPE tacit_example_seconds histogram
        tacit_example_seconds_bucket{route="/v1/ask",le="0.1"} 0
        tacit_example_seconds_bucket{route="/v1/ask",le="1.0"} 1
        tacit_example_seconds_bucket{route="/v1/ask",le="+Inf"} 1
        tacit_example_seconds_sum{route="/v1/ask"} 0.5
        tacit_example_seconds_count{route="/v1/ask"} 1
    """

    def __init__(self, name: str, label: str, bounds: Sequence[float] = BOUNDS) -> None:
        self._name = name
        self._label = label
        self._bounds = tuple(bounds)
        self._seen: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}
        self._lock = Lock()

    def add(self, value: str, seconds: float) -> None:
        """Count ``seconds`` for this value of the label."""
        with self._lock:
            counts = self._seen.setdefault(value, [0] * (len(self._bounds) + 1))
            counts[bisect_left(self._bounds, seconds)] += 1
            self._sums[value] = self._sums.get(value, 0.0) + seconds

    def lines(self) -> list[str]:
        """Return the histogram as lines of the text format of Prometheus."""
        name, bounds = self._name, [*map(str, self._bounds), "+Inf"]
        with self._lock:
            found = [
                (value, list(accumulate(counts)), self._sums[value])
                for value, counts in sorted(self._seen.items())
            ]
        lines = [f"# TYPE {name} histogram"]
        for value, within, total in found:
            named = f'{self._label}="{escape_label(value)}"'
            lines += [
                f'{name}_bucket{{{named},le="{bound}"}} {count}'
                for bound, count in zip(bounds, within, strict=True)
            ]
            lines.append(f"{name}_sum{{{named}}} {total}")
            lines.append(f"{name}_count{{{named}}} {within[-1]}")
        return lines


def escape_label(value: str) -> str:
    r"""Return the value of a label as the text format of Prometheus requires.

    Example:
        >>> print(escape_label('a "quoted" name'))
        a \"quoted\" name
    """
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


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
        self._seconds = SecondsHistogram("tacit_request_seconds", "route")
        self._lock = Lock()

    def add(self, route: str, status: int, seconds: float) -> None:
        """Count a request to ``route``, which is a template without values."""
        with self._lock:
            self._requests[route, status] += 1
        self._seconds.add(route, seconds)

    def text(self) -> str:
        """Return the counters in the text format of Prometheus."""
        with self._lock:
            requests = sorted(self._requests.items())
        lines = ["# TYPE tacit_requests_total counter"]
        for (route, status), count in requests:
            lines.append(f'tacit_requests_total{{route="{route}",status="{status}"}} {count}')
        return "\n".join([*lines, *self._seconds.lines()]) + "\n"


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


MOST_LINES = 10_000
"""Number of lines of the log that wait to be written; further ones are dropped and counted."""

FLUSH_SECONDS = 5.0


class BackgroundLog:
    """Writes lines of the log in a thread, so that no request waits for the log's reader.

    A program that reads the log may stall, and a pipe that is full then blocks the thread that
    writes to it. Lines that do not fit are dropped, and a line says how many.

    Example:
        >>> lines = []
        >>> log = BackgroundLog(lines.append)
        >>> log("a line")
        >>> log.close()
        >>> lines
        ['a line']
    """

    def __init__(self, write: Write, most: int = MOST_LINES) -> None:
        self._write = outliving(write)
        self._most = most
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._dropped = 0
        self._thread = Thread(target=self._run, name="tacit log", daemon=True)
        self._thread.start()

    def __call__(self, line: str) -> None:
        """Write ``line`` soon; this waits for nothing."""
        if self._lines.qsize() < self._most:
            self._lines.put(line)
        else:
            self._dropped += 1

    def close(self) -> None:
        """Write the lines that wait, for a few seconds at most."""
        self._lines.put(None)
        self._thread.join(FLUSH_SECONDS)

    def _run(self) -> None:
        line: str | None = ""
        while line is not None:
            line = self._lines.get()
            if line is not None:
                self._write(line)
            if self._dropped and (line is None or self._lines.empty()):
                dropped, self._dropped = self._dropped, 0
                at = time.time_ns() // 1_000_000
                self._write(json.dumps({"at": at, "dropped_lines": dropped}) + "\n")


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
