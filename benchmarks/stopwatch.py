"""How long a piece of work takes, beside what comes of it."""

import time
from collections.abc import Callable
from typing import Any


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came of it."""
    began = time.perf_counter()
    found = run()
    return time.perf_counter() - began, found
