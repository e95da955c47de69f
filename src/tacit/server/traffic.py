"""What goes through the server, counted by route and status: no label is from a question."""

from collections import Counter
from threading import Lock

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds up to which requests are counted."""


class Traffic:
    """Counters for Prometheus.

    Example:
        >>> traffic = Traffic()
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
