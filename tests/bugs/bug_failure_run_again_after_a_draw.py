"""Decision 47: a question that fails after a draw is run again, so that draws are chosen."""

from collections.abc import Callable

from tacit.errors import InternalError
from tacit.query.below_charge import Broken

PLACE = "tacit.query.below_charge:Broken.__init__"
CAUGHT_BY = "tests/failures/test_failures.py::test_what_leaves_has_the_law_of_one_draw"
SHOWN = "probability under one draw"

Make = Callable[..., None]


def bug(_: Make) -> Make:
    def forgetful(self: Broken, stage: str, *, drawn: bool) -> None:
        del drawn
        InternalError.__init__(self, "It failed.")
        self.stage, self.drawn = stage, False

    return forgetful
