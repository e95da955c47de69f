"""DuckDB's plans made of the statement alone, and never of what stands in the tables.

DuckDB keeps statistics of every column: its least and greatest value, whether it holds NULL,
how many values it has. Its planner reads them. One row with a key out of range turned a
perfect hash table into an ordinary one, which cost 15% of the time of a question over ten
million rows; a value that nobody has made DuckDB not read the table at all. Time is seen, so
one person's row was seen by it.

So every step of the planner is off that is not named here, also each step which a new version
of DuckDB adds. What stays was chosen by what DuckDB says of it, and not by reading its code;
the evidence is `tests/engines/test_plans.py`, which compares the plans of neighbouring tables.

Two things still depend on the data, and are time and not plans: which groups of rows a scan
skips, by the least and greatest value that each holds; and how many tasks a scan is cut into,
which follows from the number of rows.
"""

from collections.abc import Callable, Sequence
from typing import Any

STATEMENT_ALONE = frozenset(
    {
        *("expression_rewriter", "filter_pullup", "filter_pushdown", "regex_range"),
        *("in_clause", "deliminator", "unnest_rewriter", "unused_columns"),
        *("common_subexpressions", "common_aggregate", "column_lifetime", "duplicate_groups"),
        *("limit_pushdown", "top_n", "reorder_filter", "materialized_cte", "cte_inlining"),
        *("cte_filter_pusher", "extension"),
    }
)
"""Steps of the planner that rewrite a statement by its own form, in versions 1.5 to 2.0.

Of those that are off, statistics_propagation changes plans by one row in the test. Others are
off as a precaution, and no test shows that they must be: turned on by themselves,
compressed_materialization, join_order, build_side_probe_side, row_group_pruner and
empty_result_pullup changed none, and those after them in DuckDB's list were not tried.
top_n_window_elimination would turn the bound into heaps of lists: twice the time, three times
the memory.
"""

NO_PERFECT_HASH = "SET perfect_ht_threshold = 0"
"""Groups are found by an ordinary hash table, whatever range their keys have."""

Run = Callable[[str], Sequence[Sequence[Any]]]
"""Runs a statement of ours, and gives its rows, if it has any."""


def fix_plans(run: Run) -> None:
    """Let DuckDB plan by statements alone, from now on."""
    known = [name for (name,) in run("SELECT name FROM duckdb_optimizers()")]
    off = ",".join(name for name in known if name not in STATEMENT_ALONE)
    run(f"SET disabled_optimizers = '{off}'")
    run(NO_PERFECT_HASH)
