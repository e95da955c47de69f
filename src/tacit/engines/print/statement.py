"""The two statements of a bounded plan: its rows, for a fit, and its sums, for an answer.

`row_statement` returns the rows that a plan keeps, for models that sums do not suffice for. A
row begins with a mark of its unit, by which units are distinguished. The unit's name would not
be a good mark outside of the engine: it may have a megabyte, which is sent with each row, and
libraries may round a wide integer or truncate a text. So names stay in the engine, where they
are compared exactly:

- PostgreSQL numbers the units in their order;
- DuckDB writes rows and names to a temporary table, and compares names when it is read, because
  a window over all rows would need memory for all of them (`tacit.engines.duckdb`);
- Spark would move all rows to one executor to number the units. It returns the SHA-256 of a
  name, for which no collision is known.

`question` returns the statement of an answer: rows, contributions to groups, and their sums.
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
    rows_within_length,
)
from tacit.engines.print.ranking import BROKEN, RowContext, row_by_row, rows_are_independent
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.sums_and_hashes import total, total_of_rows
from tacit.plan import BoundedPlan, DistinctTally, Tally, TreeTally, one_row

UNIT_MARK = "tacit_told_unit"
"""The first column of a row. Its name differs from the unit's column, which orders rows."""


def row_statement(plan: BoundedPlan, catalog: Catalog, salt: bytes, dialect: Dialect) -> str:
    """Return the statement that finds the kept rows: the unit's mark, then a value per tally.

    The mark is a number or a digest (`Dialect.unit_mark`); on DuckDB it is the name, which only
    DuckDB itself reads.

    NULL becomes 0, as it counts in a sum. Rows are ordered by unit, and rows of a unit by their
    values. A fit adds floats in this order, which depends on the unit's own rows only. Rows
    with equal values are interchangeable, so the order is complete.
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
    mark = dialect.unit_mark(named.copy())
    query = build.select_from(below, build.alias(mark, UNIT_MARK), *values)
    query = query.where(*kept, copy=False) if kept else query
    order = [named]
    order += [build.column(f"t{place}") for place in range(len(plan.tallies))]
    query = query.order_by(*(exp.Ordered(this=part) for part in order), copy=False)
    return dialect.render(build.with_relations(query, relations))


# ------------------------------------------------------------------ question
# An answer as one statement: the rows, then their contributions to groups, then the sums.

CELL = "tacit_cell"


def question(
    plan: BoundedPlan, catalog: Catalog, salt: bytes, dialect: Dialect, *, use_copy: bool = True
) -> str:
    """Return the statement that answers ``plan``: a column per key, then one per tally.

    If a tally is a tree, there is a column with a cell before the tallies: a row of the result
    whose cell is not negative is the count of a leaf. If an ordered copy is read in its stored
    order, the last column is 1 if the copy is out of order; the result must then be discarded.

    The row-order hash of the salt, the unit and the row's own columns decides which rows and
    groups of a unit are kept. It is a function of the unit's own rows, so the limits are sound
    for every salt.
    """
    rows_of = RowContext(plan, catalog, salt, dialect, use_copy)
    relations = bounded_rows(rows_of)
    if not rows_are_independent(plan, catalog):
        relations |= rows_within_length(rows_of, list(relations)[-1])
        added = added_by_row if row_by_row(plan, catalog) else added_by_unit
        relations |= added(rows_of, list(relations)[-1])
    last = list(relations)[-1]
    sums = _sums(rows_of, last)
    parts = [_leaves(rows_of, place, last) for place in _trees(plan)]
    if not row_by_row(plan, catalog):
        parts += [_distinct_values(rows_of, place) for place in _distinct(plan)]
    query: exp.Query = exp.union(sums, *parts, distinct=False) if parts else sums
    return dialect.render(build.with_relations(query, relations))


def _sums(rows_of: RowContext, source: str) -> exp.Select:
    """Return the groups and the sums of their contributions."""
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
    # a row can change its unit's contribution from one bound to the other
    most, dialect = 2 * max(-tally.low, tally.high), rows_of.dialect
    if isinstance(tally, DistinctTally):
        return _distinct_sum(rows_of, place, tally)
    if not rows_are_independent(rows_of.plan, rows_of.catalog):
        added = total(build.column(f"t{place}"), most, dialect)
    elif isinstance(tally, TreeTally):
        return build.literal(0)  # its leaves are counted separately
    else:
        added = total_of_rows(rows_of.number_of(tally), most, dialect)
    return exp.func("COALESCE", added, build.literal(0))


def _distinct_sum(rows_of: RowContext, place: int, tally: DistinctTally) -> exp.Expr:
    """Return the number of distinct values; 0 if contributions are computed by unit.

    A relation of units has no values of rows, and `_distinct_values` counts them apart.
    """
    if rows_are_independent(rows_of.plan, rows_of.catalog):
        return _count_distinct(rows_of.value(tally))
    if row_by_row(rows_of.plan, rows_of.catalog):
        return _count_distinct(build.column(f"t{place}"))
    return build.literal(0)


def _distinct_values(rows_of: RowContext, place: int) -> exp.Select:
    """Return groups with the distinct values of their kept rows; other tallies are 0.

    The engine's result then has two rows for such a group, which `wrap_groups` adds up.
    """
    plan = rows_of.plan
    names = [build.column(name) for name in rows_of.key_names]
    no_cell = [build.literal(-1)] if _trees(plan) else []
    counts = [
        _count_distinct(rows_of.value(tally)) if other == place else build.literal(0)
        for other, tally in enumerate(plan.tallies)
    ]
    none = [build.literal(0)] if rows_of.streamed else []
    query = build.select_from(RANKED, *names, *no_cell, *counts, *none)
    query = query.where(
        exp.LTE(this=build.column(ROW_RANK), expression=build.literal(plan.max_rows)),
        exp.LTE(this=build.column(GROUP_RANK), expression=build.literal(plan.max_groups)),
        copy=False,
    )
    return query.group_by(*names, copy=False) if names else query


def _count_distinct(value: exp.Expr) -> exp.Expr:
    return exp.Count(this=exp.Distinct(expressions=[value]))


def _distinct(plan: BoundedPlan) -> list[int]:
    return [
        place for place, tally in enumerate(plan.tallies) if isinstance(tally, DistinctTally)
    ]


def _leaves(rows_of: RowContext, place: int, source: str) -> exp.Select:
    """Return the cells of one tree with the number of kept rows; other tallies are 0."""
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
