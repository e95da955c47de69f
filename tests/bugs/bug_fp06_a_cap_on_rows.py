"""F-P6: a fit fails on one row more than a cap, and so tells how many there are."""

import os
from collections.abc import Callable
from typing import Any

from tacit.errors import InternalError

PLACE = "tacit.engines.unit_rows:UnitRows.add"
CAUGHT_BY = "tests/edges/test_rows_cap.py::test_one_row_more_changes_no_outcome"
SHOWN = "(wanted fitted both times) short"

Add = Callable[[Any, Any, Any], None]


def bug(original: Add) -> Add:
    def add(rows: Any, units: Any, columns: Any) -> None:
        original(rows, units, columns)
        if rows._units > int(os.environ.get("TACIT_EDGE_ROWS", "200000")):
            raise InternalError("A table has more rows than a fit may take.")

    return add
