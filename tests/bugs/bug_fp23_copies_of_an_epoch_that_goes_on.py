"""F-P23: a copy that was made on a day is read for as long as its epoch is the declared one."""

from collections.abc import Callable
from datetime import date

PLACE = "tacit.session.served_copies:_complete"
CAUGHT_BY = (
    "tests/edges/test_whose_copy.py::test_a_copy_of_an_epoch_that_goes_on_is_made_anew_each_day"
)
SHOWN = "[3001, 3001, 3001]"

Rule = Callable[[date | None, str], bool]


def bug(_: Rule) -> Rule:
    return lambda made, _: made is not None
