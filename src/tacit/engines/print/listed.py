"""The rows that a bounded question keeps, as one statement: for what no sum can tell."""

from sqlglot import exp

from tacit.core.catalog import Catalog
from tacit.engines.print.bounded_rows import bounded_rows
from tacit.engines.print.by_unit import RANKED, ROW_RANK, ranked
from tacit.engines.print.dialect import said
from tacit.engines.print.kept_rows import UNIT
from tacit.engines.print.rows import Rows
from tacit.engines.print.word import above, alias, bytewise, cast, chosen, column, literal
from tacit.plan.bounded import BoundedPlan
from tacit.plan.source import one_row


def listed(plan: BoundedPlan, catalog: Catalog, salt: bytes, dialect: str) -> str:
    """Print the statement that finds the rows: their unit, then what each tally needs of them.

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
    query = chosen(below, column(UNIT), *values)
    query = query.where(*kept, copy=False) if kept else query
    unit, text = rows_of.unit_part
    order = [bytewise(column(unit), dialect, text=text)]
    order += [column(f"t{place}") for place in range(len(plan.tallies))]
    query = query.order_by(*(exp.Ordered(this=part) for part in order), copy=False)
    return said(above(query, relations), dialect)
