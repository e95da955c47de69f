"""F-P17: a table is not read at all where no row of it can be meant, by its statistics."""

from tacit.engines.duckdb import STATEMENT_ALONE

PLACE = "tacit.engines.duckdb:STATEMENT_ALONE"
CAUGHT_BY = "tests/engines/test_plans.py::test_no_plan_depends_on_one_row"
SHOWN = "WHERE g = 5000"


def bug(_: object) -> frozenset[str]:
    return STATEMENT_ALONE | {"statistics_propagation"}
