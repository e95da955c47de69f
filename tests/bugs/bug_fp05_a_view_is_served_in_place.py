"""F-P5: an owner's word is enough to serve a view in place."""

from collections.abc import Callable

PLACE = "tacit.session.project:check_declared"
CAUGHT_BY = "tests/edges/test_view_cast.py::test_a_view_that_is_declared_in_place_is_refused"
SHOWN = "DID NOT RAISE"


def bug(_: Callable[..., None]) -> Callable[..., None]:
    return lambda *_: None
