"""F-P23: a period is released before it is over."""

from collections.abc import Callable

PLACE = "tacit.stream.open_stream:check_over"
CAUGHT_BY = (
    "tests/edges/test_published_again.py::test_a_period_that_is_not_over_is_not_released"
)
SHOWN = "DID NOT RAISE"

Rule = Callable[..., None]


def bug(_: Rule) -> Rule:
    return lambda *_: None
