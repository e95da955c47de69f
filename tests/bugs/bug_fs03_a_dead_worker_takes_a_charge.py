"""F-S3: whether a worker still lives is found out with somebody's paid question."""

from collections.abc import Callable

from tacit.query.worker import Worker

PLACE = "tacit.query.worker:Worker.ready"
CAUGHT_BY = (
    "tests/failures/test_failures.py::test_an_idle_worker_that_is_killed_costs_nobody_anything"
)
SHOWN = "idle workers killed"

Ready = Callable[[Worker], bool]


def bug(_: Ready) -> Ready:
    return Worker.start
