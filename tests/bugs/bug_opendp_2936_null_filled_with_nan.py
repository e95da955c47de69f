"""OpenDP 2936: NULL is filled with NaN, where numbers are believed to be without it."""

from collections.abc import Callable

from sqlglot import exp

from tacit.plan.tally import RowValue

PLACE = "tacit.engines.print.bounded_rows:row_value"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[numbers that are none-duckdb]"
)
SHOWN = "tacit.errors.InternalError: The engine failed."

Number = Callable[[RowValue], exp.Expr]


def bug(original: Number) -> Number:
    def row_value(number: RowValue) -> exp.Expr:
        nan = exp.cast(exp.Literal.string("NaN"), "DOUBLE")
        return exp.func("COALESCE", exp.cast(original(number), "DOUBLE"), nan)

    return row_value
