"""TD-10, 15; OpenDP 2949: units are bounded in finer groups, which are merged afterwards."""

from collections.abc import Callable
from itertools import islice

from sqlglot import exp

from tacit.engines.print.rows import Rows
from tacit.engines.print.word import column
from tacit.plan.tally import UnitTally

PLACE = "tacit.engines.print.by_unit:_units"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[many values in one group-duckdb]"
)
SHOWN = "BrokenPromise: Batch 0 moves by the root of"

Units = Callable[[Rows, str], exp.Select]


def bug(original: Units) -> Units:
    def units(rows_of: Rows, source: str) -> exp.Select:
        # a row for each unit, group and value, of which only unit and group are left
        values = (
            column(f"v{place}")
            for place, tally in enumerate(rows_of.plan.tallies)
            if not isinstance(tally, UnitTally)
        )
        return original(rows_of, source).group_by(*islice(values, 1))

    return units
