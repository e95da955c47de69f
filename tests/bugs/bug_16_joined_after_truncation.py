"""TD-10, 16: rows are bounded in their own table, and a join multiplies them (Uber FLEX 1)."""

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from tacit.core.catalog import Catalog
from tacit.engines.print import bounded_rows
from tacit.engines.print.ranking import RowContext
from tacit.engines.print.sql_builder import column, literal
from tacit.engines.print.sql_dialect import Dialect
from tacit.plan.source import Source
from tacit.plan.tally import Tally

PLACE = "tacit.engines.print.relation:join_tables"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[many rows of another table-duckdb]"
)
SHOWN = "BrokenPromise: Batch 0 changes by the square root of"
MANY = 10**9

Joined = Callable[[Source, Catalog, str], exp.Select]


def bug(original: Joined) -> Joined:
    of_unit = bounded_rows._unit_contribution

    def of_bounded_unit(rows_of: RowContext, tally: Tally) -> exp.Expr:
        return of_unit(replace(rows_of, plan=replace(rows_of.plan, max_rows=MANY)), tally)

    bounded_rows._unit_contribution = of_bounded_unit

    def joined(source: Source, catalog: Catalog, dialect: Dialect) -> exp.Select:
        dataset = catalog.dataset(source.dataset)
        unit = column(dataset.unit.column)
        rank = exp.Window(this=exp.RowNumber(), partition_by=[unit])
        first = exp.select("*").from_(exp.to_table(dataset.location.table[-1]))
        first = first.qualify(exp.LTE(this=rank, expression=literal(dataset.limits.max_rows)))
        query = original(source, catalog, dialect)
        query.set("from_", exp.From(this=first.subquery(source.dataset)))
        return query

    return joined
