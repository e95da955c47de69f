"""TD-10, 39: what an engine wrote beside its answer stays when its process is killed."""

from collections.abc import Callable

PLACE = "tacit.query.worker:Scratch.close"
CAUGHT_BY = "tests/server/test_below.py::test_what_a_child_wrote_is_gone_with_it"
SHOWN = "assert not True"

Close = Callable[[object], None]


def bug(_: Close) -> Close:
    return lambda _: None
