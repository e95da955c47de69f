"""A subselect follows the link alone, and a parent that is not unique is another person's."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tacit.engines.print.relation import Relations, RowsToMatch
from tacit.engines.print.sql_dialect import Dialect
from tacit.plan.source import SemiJoin

PLACE = "tacit.engines.print.relation:keep_matched"
CAUGHT_BY = (
    "tests/engines/test_same_person.py"
    "::test_a_shared_number_brings_no_row_of_another_person_in[duckdb]"
)
SHOWN = "assert [2] == [1]"

Kept = Callable[[SemiJoin, RowsToMatch, Any, Dialect], Relations]


def bug(original: Kept) -> Kept:
    def keep(semi: SemiJoin, between: RowsToMatch, catalog: Any, dialect: Dialect) -> Relations:
        # the first pair are the units
        return original(replace(semi, on=semi.on[1:]), between, catalog, dialect)

    return keep
