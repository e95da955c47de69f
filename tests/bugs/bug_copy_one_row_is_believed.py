"""A copy believes that each unit has one row: one person's rows move a count by all of them."""

from collections.abc import Callable

PLACE = "tacit.engines.print.copy_statement:CopiedRows._one_each"
CAUGHT_BY = (
    "tests/engines/test_what_one_breaks.py"
    "::test_one_person_with_many_rows_moves_a_count_by_one[duckdb]"
)
SHOWN = "a count is moved by, duckdb: 50"


def bug(_: Callable[..., object]) -> Callable[..., object]:
    return lambda rows, _: rows._validated
