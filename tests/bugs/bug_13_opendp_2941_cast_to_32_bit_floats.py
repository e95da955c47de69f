"""TD-10, 13; OpenDP 2941: a clamped number is cast to a float of 32 bits, beyond its bounds."""

from collections.abc import Callable

from sqlglot import exp

from tacit.engines.print.ranking import RowContext
from tacit.plan.tally import Tally

PLACE = "tacit.engines.print.bounded_rows:_unit_contribution"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[a sum beyond 31 bits-duckdb]"
)
# 1200000128 is the nearest such float to 1200000120
SHOWN = f"BrokenPromise: Batch 0 changes by the square root of {1200000128**2}"

UnitAggregate = Callable[[RowContext, Tally], exp.Expr]


def bug(original: UnitAggregate) -> UnitAggregate:
    def of_unit(rows_of: RowContext, tally: Tally) -> exp.Expr:
        return exp.cast(original(rows_of, tally), "FLOAT")

    return of_unit
