"""TD-10, 10: NaN is neither below nor above, and is left as it is (google-dp 405)."""

from collections.abc import Callable
from sys import float_info

from sqlglot import exp

from tacit.core.column import Kind
from tacit.engines.print import stage
from tacit.engines.print.word import choose, column, compare, double
from tacit.plan.expression import Comparison

PLACE = "tacit.engines.print.stage:clamped"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[numbers that are none-duckdb]"
)
SHOWN = "tacit.errors.InternalError: The engine failed."

Clamp = Callable[[exp.Expr, exp.Expr, exp.Expr], exp.Expr]


def as_it_is(name: str, kind: Kind) -> exp.Expr:
    del kind
    return column(name)


def bug(_: Clamp) -> Clamp:
    stage.finite = as_it_is

    def clamped(value: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
        below = compare(Comparison.LESS, value, low)
        above = compare(Comparison.MORE, value, high)
        # the order of most languages; DuckDB's own has NaN above all numbers
        is_number = compare(Comparison.AT_MOST, value, double(float_info.max))
        return choose([(below, low), (exp.and_(above, is_number), high)], value)

    return clamped
