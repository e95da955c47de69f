"""F-P24: tables of a making that was killed stay, with the rows that are in them."""

from collections.abc import Callable

PLACE = "tacit.session.prepare:drop_abandoned_copies"
CAUGHT_BY = (
    "tests/edges/test_whose_copy.py::test_what_a_killed_making_left_is_dropped_by_the_next"
)
SHOWN = "tables left of a making that was killed: 3"

Drop = Callable[..., None]


def bug(_: Drop) -> Drop:
    return lambda *_: None
