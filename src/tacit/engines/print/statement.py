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

from tacit.core import Catalog
from tacit.engines.print import sql_builder as build
from tacit.engines.print.bounded_rows import (
    CHOSEN,
    EARLIER,
    GROUP_RANK,
    RANKED,
    ROW_RANK,
    added_by_row,
    added_by_unit,
    bounded_rows,
    ranked_rows,
)
from tacit.engines.print.ranking import BROKEN, RowContext, row_by_row, rows_are_independent
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.sums_and_hashes import total, total_of_rows
from tacit.plan import BoundedPlan, Tally, TreeTally, one_row

UNIT_MARK = "tacit_told_unit"
"""The first column of a row; not called as the unit's name, by which rows are sorted."""


def row_statement(plan: BoundedPlan, catalog: Catalog, salt: bytes, dialect: Dialect) -> str:
    """Print the statement that finds the rows: their unit, then what each tally needs of them.

    A unit is a number or a digest (`Dialect.unit_mark`); DuckDB alone reads its name from a
    table.

    What is NULL is 0, as it counts in a sum. Rows come by unit, and those of a unit by their
    numbers: a fit adds floats in this order, which nothing but the unit's own rows decides.
    Rows with equal numbers are equal, so that no order is left open.
    """
    rows_of = RowContext(plan, catalog, salt, dialect, use_copy=False)
    relations = bounded_rows(rows_of)
    below = list(relations)[-1]
    kept: list[exp.Expr] = []
    if not one_row(plan.source, catalog):
        relations[RANKED] = ranked_rows(rows_of, below)
        kept = [exp.LTE(this=build.column(ROW_RANK), expression=build.literal(plan.max_rows))]
        below = RANKED
    values = [
        build.alias(
            build.cast(exp.func("COALESCE", rows_of.value(tally), build.literal(0)), "BIGINT"),
            f"t{place}",
        )
        for place, tally in enumerate(plan.tallies)
    ]
    unit, text = rows_of.unit_part
    named = build.bytewise(build.column(unit), dialect, text=text)
    told = dialect.unit_mark(named.copy())
    query = build.select_from(below, build.alias(told, UNIT_MARK), *values)
    query = query.where(*kept, copy=False) if kept else query
    order = [named]
    order += [build.column(f"t{place}") for place in range(len(plan.tallies))]
    query = query.order_by(*(exp.Ordered(this=part) for part in order), copy=False)
    return dialect.render(build.with_relations(query, relations))


# ------------------------------------------------------------------ question
# A bounded question as one statement: rows, then what each adds to a group, then sums.

CELL = "tacit_cell"


def question(
    plan: BoundedPlan, catalog: Catalog, salt: bytes, dialect: Dialect, *, use_copy: bool = True
) -> str:
    """The statement that answers ``plan``: a column for each key, then one for each tally.

    Where a tally is a tree, a column before the tallies holds a cell: rows of a group where it
    is not below 0 count a leaf. Where an ordered copy is read as it lies, a last column is 1
    where it is not in order, and the answer is none.

    Which rows and groups of a unit are kept is decided by a mix of the salt, the unit and the
    row's own columns: a function of the unit's own rows, sound for every salt.
    """
    rows_of = RowContext(plan, catalog, salt, dialect, use_copy)
    relations = bounded_rows(rows_of)
    if not rows_are_independent(plan, catalog):
        added = added_by_row if row_by_row(plan, catalog) else added_by_unit
        relations |= added(rows_of, list(relations)[-1])
    last = list(relations)[-1]
    sums = _sums(rows_of, last)
    leaves = [_leaves(rows_of, place, last) for place in _trees(plan)]
    query: exp.Query = exp.union(sums, *leaves, distinct=False) if leaves else sums
    return dialect.render(build.with_relations(query, relations))


def _sums(rows_of: RowContext, source: str) -> exp.Select:
    """The groups, and the sum of what their units add."""
    plan = rows_of.plan
    names = [build.column(name) for name in rows_of.key_names]
    sums = [_sum(rows_of, place, tally) for place, tally in enumerate(plan.tallies)]
    no_cell = [build.alias(build.literal(-1), CELL)] if _trees(plan) else []
    query = build.select_from(source, *names, *no_cell, *sums)
    kept: list[exp.Expr] = []
    if source == CHOSEN:
        kept.append(
            exp.LTE(this=build.column(GROUP_RANK), expression=build.literal(plan.max_groups))
        )
    if rows_of.streamed:
        broken = exp.func("COALESCE", exp.Max(this=build.column(BROKEN)), build.literal(0))
        query = query.select(build.alias(broken, BROKEN), copy=False)
        kept = [
            exp.or_(part, exp.GT(this=build.column(BROKEN), expression=build.literal(0)))
            for part in kept
        ]
    query = query.where(*kept, copy=False) if kept else query
    return query.group_by(*names, copy=False) if names else query


def _sum(rows_of: RowContext, place: int, tally: Tally) -> exp.Expr:
    # a row moves its unit's part from one end of its range to the other at most
    most, dialect = 2 * max(-tally.low, tally.high), rows_of.dialect
    if not rows_are_independent(rows_of.plan, rows_of.catalog):
        added = total(build.column(f"t{place}"), most, dialect)
    elif isinstance(tally, TreeTally):
        return build.literal(0)  # its leaves are counted by themselves
    else:
        added = total_of_rows(rows_of.number_of(tally), most, dialect)
    return exp.func("COALESCE", added, build.literal(0))


def _leaves(rows_of: RowContext, place: int, source: str) -> exp.Select:
    """The cells of a tree that kept rows fall into, and how many, beside no other tally."""
    plan = rows_of.plan
    cell = rows_of.value(plan.tallies[place])
    groups = [*map(build.column, rows_of.key_names), cell]
    counts = [
        exp.Count(this=exp.Star()) if other == place else build.literal(0)
        for other in range(len(plan.tallies))
    ]
    kept: list[exp.Expr] = []
    if not row_by_row(plan, rows_of.catalog):
        source = RANKED
        kept = [
            exp.LTE(this=build.column(ROW_RANK), expression=build.literal(plan.max_rows)),
            exp.LTE(this=build.column(GROUP_RANK), expression=build.literal(plan.max_groups)),
        ]
    elif not rows_are_independent(plan, rows_of.catalog):
        kept = [exp.LT(this=build.column(EARLIER), expression=build.literal(plan.max_rows))]
    none = [build.alias(build.literal(0), BROKEN)] if rows_of.streamed else []
    query = build.select_from(source, *groups, *counts, *none)
    return query.where(*kept, exp.not_(build.is_null(cell)), copy=False).group_by(
        *groups, copy=False
    )


def _trees(plan: BoundedPlan) -> list[int]:
    return [place for place, tally in enumerate(plan.tallies) if isinstance(tally, TreeTally)]
