"""TD-10, 10: NaN is neither below nor above, and is left as it is (google-dp 405)."""

from collections.abc import Callable
from sys import float_info

from sqlglot import exp

from tacit.engines.print.sql_builder import choose, compare, double
from tacit.plan.expression import Comparison

PLACE = "tacit.engines.print.expressions:_clamp_float"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[numbers that are none-duckdb]"
)
SHOWN = "tacit.errors.InternalError: The engine failed."

Clamp = Callable[[exp.Expr, float, float], exp.Expr]


def bug(_: Clamp) -> Clamp:
    def clamped(value: exp.Expr, low: float, high: float) -> exp.Expr:
        below = compare(Comparison.LESS, value, double(low))
        above = compare(Comparison.MORE, value, double(high))
        # the order of most languages; DuckDB's own has NaN above all numbers
        is_number = compare(Comparison.AT_MOST, value, double(float_info.max))
        pairs = [(below, double(low)), (exp.and_(above, is_number), double(high))]
        return choose(pairs, value)

    return clamped
