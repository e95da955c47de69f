"""F-P17: DuckDB plans by the statistics of the columns, which one row changes."""

from tacit.engines.duckdb import Run

PLACE = "tacit.engines.duckdb:fix_plans"
CAUGHT_BY = "tests/engines/test_plans.py::test_no_plan_depends_on_one_row"
SHOWN = "a key out of range"


def bug(_: object) -> object:
    def fix_plans(run: Run) -> None:
        run("SET disabled_optimizers = 'top_n_window_elimination'")

    return fix_plans
