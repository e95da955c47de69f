"""TD-10, 37: a stored result is found by its key alone, whoever asks for it."""

from collections.abc import Callable

PLACE = "tacit.server.routes.questions:_may_read"
CAUGHT_BY = (
    "tests/server/test_authorisation.py::"
    "test_refusals_tell_nothing_of_whether_an_object_is_there"
)
SHOWN = "assert 2 == 1"


def bug(_: Callable[..., bool]) -> Callable[..., bool]:
    return lambda *_: True
