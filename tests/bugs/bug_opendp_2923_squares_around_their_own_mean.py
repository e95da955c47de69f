"""OpenDP 2923: squares around the mean of the table itself, whose rounding one row turns."""

from collections.abc import Callable

from sqlglot import exp

from tacit.engines.print.row import steps
from tacit.plan.steps import ProductSteps, SumSteps
from tacit.plan.tally import KeptTally, Tally

PLACE = "tacit.engines.print.bounded_rows:_value"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[a mean that crosses a step-duckdb]"
)
SHOWN = "moves by the root of 9216, and that of 1 was declared."

Value = Callable[[Tally], exp.Expr]


def bug(original: Value) -> Value:
    def value(tally: Tally) -> exp.Expr:
        match tally:
            case KeptTally(SumSteps(ProductSteps(offset, _), rest), _, _):
                mean = exp.Floor(this=exp.Window(this=exp.Avg(this=steps(offset))))
                away = exp.paren(
                    exp.Sub(this=steps(offset), expression=exp.cast(mean, "BIGINT"))
                )
                square = exp.Mul(this=away, expression=away.copy())
                return exp.paren(exp.Add(this=square, expression=steps(rest)))
        return original(tally)

    return value
