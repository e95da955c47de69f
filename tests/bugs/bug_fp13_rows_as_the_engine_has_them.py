"""F-P13: the rows of a unit come in the engine's order, and their floats are added in it."""

import re
from collections.abc import Callable
from typing import Any

PLACE = "tacit.engines.duckdb:row_statement"
CAUGHT_BY = (
    "tests/edges/test_row_order.py::test_a_units_rows_come_in_one_order[DuckDB-duckdb_over]"
)
SHOWN = "edge row_order: ways that DuckDB lists one table: 6 (wanted 1) short"

Listed = Callable[..., str]
LAST = re.compile(r"(ORDER BY [^,]+?)(, \"?t\d+\"?( NULLS (FIRST|LAST))?)+$")


def bug(original: Listed) -> Listed:
    def listed(*given: Any) -> str:
        # small tables happen to come in one order, which no engine promises
        return LAST.sub(r"\1, RANDOM()", original(*given))

    return listed
