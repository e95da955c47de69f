"""TD-10, 15; OpenDP 2949: units are bounded in finer groups, which are merged afterwards."""

from collections.abc import Callable

from sqlglot import exp

from tacit.engines.print.ranking import RowContext
from tacit.engines.print.sql_builder import column

PLACE = "tacit.engines.print.bounded_rows:_units"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[many values in one group-duckdb]"
)
SHOWN = "BrokenPromise: Batch 0 changes by the square root of"

Units = Callable[[RowContext, str], exp.Select]


def bug(original: Units) -> Units:
    def units(rows_of: RowContext, source: str) -> exp.Select:
        # a row for each unit, group and value, of which only unit and group are left
        return original(rows_of, source).group_by(*map(column, rows_of.value_names[:1]))

    return units
