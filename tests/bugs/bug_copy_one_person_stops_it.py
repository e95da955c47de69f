"""A copy is refused where two rows of one person have the same row key: for everybody."""

from collections.abc import Callable, Sequence
from typing import Any

from tacit.errors import InvalidValue

PLACE = "tacit.engines.prepare:Preparation._check_order"
CAUGHT_BY = (
    "tests/engines/test_what_one_breaks.py"
    "::test_row_keys_that_tell_no_rows_apart_stop_no_copy[7-duckdb]"
)
SHOWN = "does not tell the rows of a unit apart"

Run = Callable[[str], Sequence[Sequence[int]]]


def bug(_: Callable[..., None]) -> Callable[..., None]:
    def look_at(making: Any, table: tuple[str, ...], run: Run) -> None:
        by = f"{making.dataset.unit.column}, {making.dataset.row_key}"
        many = f"SELECT 1 FROM {'.'.join(table)} GROUP BY {by} HAVING COUNT(*) > 1"  # noqa: S608
        if run(many):
            raise InvalidValue("The row key does not tell the rows of a unit apart.")

    return look_at
