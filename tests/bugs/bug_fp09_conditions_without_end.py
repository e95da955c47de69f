"""F-P9: a condition of hundreds of terms runs for each row that a join makes."""

from collections.abc import Callable

PLACE = "tacit.plan.bounding:not_too_many_terms"
CAUGHT_BY = "tests/edges/test_fan_out.py::test_conditions_lists_and_texts_have_a_most"
SHOWN = "64 is the most"

Check = Callable[..., None]


def bug(_: Check) -> Check:
    def not_too_many_terms(*_: object) -> None:
        pass

    return not_too_many_terms
