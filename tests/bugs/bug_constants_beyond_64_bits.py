"""A constant of any size is printed; an engine fails on it only if a row reaches it."""

from collections.abc import Callable

PLACE = "tacit.plan.steps:check_size"
CAUGHT_BY = (
    "tests/engines/test_huge_constants.py::test_constants_of_every_size_mean_the_same[duckdb]"
)
SHOWN = "fails with 6 rows"

Check = Callable[[int], None]


def bug(_: Check) -> Check:
    def check_size(number: int) -> None:
        """Nothing is refused."""

    return check_size
