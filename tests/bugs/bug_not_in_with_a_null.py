"""NOT IN is printed as it is written, and one NULL in a list empties the answer."""

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from tacit.engines.print.relation import Relations, RowsToMatch
from tacit.engines.print.sql_builder import column, literal, select_from
from tacit.engines.print.sql_dialect import Dialect
from tacit.plan.source import SemiJoin

PLACE = "tacit.engines.print.relation:keep_matched"
CAUGHT_BY = (
    "tests/engines/test_same_person.py"
    "::test_a_null_in_a_list_empties_the_answer_of_nobody[duckdb]"
)
SHOWN = "assert [0] == [2]"

Kept = Callable[[SemiJoin, RowsToMatch, Any, Dialect], Relations]


def bug(original: Kept) -> Kept:
    def keep(semi: SemiJoin, between: RowsToMatch, catalog: Any, dialect: Dialect) -> Relations:
        made = original(semi, between, catalog, dialect)
        if not semi.anti:
            return made
        left, right = semi.on[-1]
        listed = select_from(between.inside, column(right))
        inside = exp.In(this=column(left), query=exp.Subquery(this=listed))
        # a list that may be empty, of the rows before conditions
        kept = select_from(between.above).where(exp.not_(inside), literal(True))
        return {**made, list(made)[-1]: kept}

    return keep
