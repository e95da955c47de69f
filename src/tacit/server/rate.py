"""How often a caller may call: a bucket of tokens each, that fills at a steady pace."""

import time
from collections.abc import Callable
from threading import Lock

from tacit.server.refusal import Refusal, Refused, Told

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
