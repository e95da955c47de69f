"""Distinct values are counted over all rows of a unit, and not over the rows that count."""

from collections.abc import Callable

from sqlglot import exp

from tacit.engines.print.ranking import RowContext

PLACE = "tacit.engines.print.statement:_distinct_values"
CAUGHT_BY = (
    "tests/engines/test_distinct.py"
    "::test_a_person_moves_all_that_is_declared_and_not_more[on_duckdb]"
)
SHOWN = "BrokenPromise: Batch 0 changes by the square root of"

Counting = Callable[[RowContext, int], exp.Select]


def bug(original: Counting) -> Counting:
    def distinct_values(rows_of: RowContext, place: int) -> exp.Select:
        query = original(rows_of, place)
        # the limits on rows and groups are forgotten
        query.set("where", None)
        return query

    return distinct_values
