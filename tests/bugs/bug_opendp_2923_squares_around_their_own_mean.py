"""OpenDP 2923: squares around the mean of the table itself, whose rounding one row turns."""

from collections.abc import Callable

from sqlglot import exp

from tacit.plan.tally import RowValue

PLACE = "tacit.engines.print.bounded_rows:row_value"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[a mean that crosses a step-duckdb]"
)
SHOWN = "BrokenPromise: Batch 0 changes by the square root of"

Number = Callable[[RowValue], exp.Expr]


def bug(original: Number) -> Number:
    def row_value(number: RowValue) -> exp.Expr:
        mean = exp.Floor(this=exp.Window(this=exp.Avg(this=original(number))))
        return exp.Sub(this=original(number), expression=exp.cast(mean, "BIGINT"))

    return row_value
