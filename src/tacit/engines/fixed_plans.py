"""DuckDB's plans made of the statement alone, and never of what stands in the tables.

DuckDB keeps statistics of every column: its least and greatest value, whether it holds NULL,
how many values it has. Its planner reads them. One row with a key out of range turned a
perfect hash table into an ordinary one, which cost 15% of the time of a question over ten
million rows; a value that nobody has made DuckDB not read the table at all. Time is seen, so
one person's row was seen by it.

So every step of the planner is turned off that is not known to look at the statement alone.
The list names the steps that stay: a step which a new version of DuckDB adds is off until
somebody has read what it does and named it here. `tests/engines/test_plans.py` compares the
plans of neighbouring tables.

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

Not among them are, by what they read: statistics of columns (statistics_propagation,
compressed_materialization, join_filter_pushdown, row_group_pruner, partitioned_execution), and
estimated numbers of rows (join_order, build_side_probe_side, late_materialization,
partial_aggregate_pushdown). top_n_window_elimination would turn the bound into heaps of lists:
twice the time, three times the memory.
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
