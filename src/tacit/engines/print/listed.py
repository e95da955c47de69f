"""The rows that a bounded question keeps, as one statement: for what no sum can tell.

A row begins with something that tells its unit from others. A name is no good for that outside
of its engine: it may have a megabyte, which one person would bring along with each row, and
libraries on the way round a wide integer, or cut a text at its end. So names stay where they
are compared exactly:

- PostgreSQL numbers the units, in their order;
- DuckDB writes rows and names to a table of its own, and numbers units where it is read, since
  a window over all rows would have to be held (`tacit.engines.duckdb`);
- Spark would bring all rows to one executor for such a number. It gives the SHA-256 of a name,
  in which no two names are known to agree.
"""

from sqlglot import exp

from tacit.core.catalog import Catalog
from tacit.engines.print.bounded_rows import bounded_rows
from tacit.engines.print.by_unit import RANKED, ROW_RANK, ranked
from tacit.engines.print.rows import Rows
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.word import above, alias, bytewise, cast, chosen, column, literal
from tacit.plan.bounded import BoundedPlan
from tacit.plan.source import one_row

TOLD_UNIT = "tacit_told_unit"
"""The first column of a row; not called as the unit's name, by which rows are sorted."""


def listed(plan: BoundedPlan, catalog: Catalog, salt: bytes, dialect: Dialect) -> str:
    """Print the statement that finds the rows: their unit, then what each tally needs of them.

    A unit is a number or a digest (`Dialect.unit_mark`); DuckDB alone reads its name from a
    table.

    What is NULL is 0, as it counts in a sum. Rows come by unit, and those of a unit by their
    numbers: a fit adds floats in this order, which nothing but the unit's own rows decides.
    Rows with equal numbers are equal, so that no order is left open.
    """
    rows_of = Rows(plan, catalog, salt, dialect, use_copy=False)
    relations = bounded_rows(rows_of)
    below = list(relations)[-1]
    kept: list[exp.Expr] = []
    if not one_row(plan.source, catalog):
        relations[RANKED] = ranked(rows_of, below)
        kept = [exp.LTE(this=column(ROW_RANK), expression=literal(plan.max_rows))]
        below = RANKED
    values = [
        alias(
            cast(exp.func("COALESCE", rows_of.value(tally), literal(0)), "BIGINT"), f"t{place}"
        )
        for place, tally in enumerate(plan.tallies)
    ]
    unit, text = rows_of.unit_part
    named = bytewise(column(unit), dialect, text=text)
    told = dialect.unit_mark(named.copy())
    query = chosen(below, alias(told, TOLD_UNIT), *values)
    query = query.where(*kept, copy=False) if kept else query
    order = [named]
    order += [column(f"t{place}") for place in range(len(plan.tallies))]
    query = query.order_by(*(exp.Ordered(this=part) for part in order), copy=False)
    return dialect.render(above(query, relations))
