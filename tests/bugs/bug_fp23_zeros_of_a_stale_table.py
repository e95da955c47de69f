"""F-P23: a step is released of a period that the table does not cover."""

from collections.abc import Callable

PLACE = "tacit.stream.open_stream:check_covered"
CAUGHT_BY = (
    "tests/edges/test_published_again.py::"
    "test_a_period_that_the_epoch_does_not_cover_is_not_released"
)
SHOWN = "DID NOT RAISE"

Rule = Callable[..., None]


def bug(_: Rule) -> Rule:
    return lambda *_: None
