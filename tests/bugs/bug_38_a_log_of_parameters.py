"""TD-10, 38: the log repeats the path and the parameters of a request."""

from collections.abc import Callable
from typing import Any

PLACE = "tacit.server.middleware:AccessLog._log"
CAUGHT_BY = "tests/server/test_log.py::test_a_line_tells_the_route_and_nothing_of_the_question"
SHOWN = "Zanzibar-4711"

Log = Callable[[Any, Any, dict[str, Any], float], None]


def bug(original: Log) -> Log:
    def log(self: Any, scope: Any, told: dict[str, Any], seconds: float) -> None:
        asked = f"{scope['path']}?{scope['query_string'].decode()}"
        original(self, scope, {**told, "failed": asked}, seconds)

    return log
