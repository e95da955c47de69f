"""OpenDP 2936: NULL is filled with NaN, where numbers are believed to be without it."""

from collections.abc import Callable

from sqlglot import exp

from tacit.plan.tally import KeptTally, Tally

PLACE = "tacit.engines.print.bounded_rows:_value"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[numbers that are none-duckdb]"
)
SHOWN = "tacit.errors.InternalError: The engine failed."

Value = Callable[[Tally], exp.Expr]


def bug(original: Value) -> Value:
    def value(tally: Tally) -> exp.Expr:
        found = original(tally)
        if not isinstance(tally, KeptTally):
            return found
        nan = exp.cast(exp.Literal.string("NaN"), "DOUBLE")
        return exp.func("COALESCE", exp.cast(found, "DOUBLE"), nan)

    return value
