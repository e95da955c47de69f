"""A bounded question as one statement: rows, then what each adds to a group, then sums."""

from sqlglot import exp

from tacit.core.catalog import Catalog
from tacit.engines.print.bounded_rows import bounded_rows
from tacit.engines.print.by_row import EARLIER, added_by_row
from tacit.engines.print.by_unit import CHOSEN, GROUP_RANK, RANKED, ROW_RANK, added_by_unit
from tacit.engines.print.form import alone, row_by_row
from tacit.engines.print.kept_rows import BROKEN
from tacit.engines.print.rows import Rows
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.total import total, total_alone
from tacit.engines.print.word import above, alias, chosen, column, is_null, literal
from tacit.plan.bounded import BoundedPlan
from tacit.plan.tally import Tally, TreeTally

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
    rows_of = Rows(plan, catalog, salt, dialect, use_copy)
    relations = bounded_rows(rows_of)
    if not alone(plan, catalog):
        added = added_by_row if row_by_row(plan, catalog) else added_by_unit
        relations |= added(rows_of, list(relations)[-1])
    last = list(relations)[-1]
    sums = _sums(rows_of, last)
    leaves = [_leaves(rows_of, place, last) for place in _trees(plan)]
    query: exp.Query = exp.union(sums, *leaves, distinct=False) if leaves else sums
    return dialect.render(above(query, relations))


def _sums(rows_of: Rows, source: str) -> exp.Select:
    """The groups, and the sum of what their units add."""
    plan = rows_of.plan
    names = [column(name) for name in rows_of.key_names]
    sums = [_sum(rows_of, place, tally) for place, tally in enumerate(plan.tallies)]
    no_cell = [alias(literal(-1), CELL)] if _trees(plan) else []
    query = chosen(source, *names, *no_cell, *sums)
    kept: list[exp.Expr] = []
    if source == CHOSEN:
        kept.append(exp.LTE(this=column(GROUP_RANK), expression=literal(plan.max_groups)))
    if rows_of.streamed:
        broken = exp.func("COALESCE", exp.Max(this=column(BROKEN)), literal(0))
        query = query.select(alias(broken, BROKEN), copy=False)
        kept = [
            exp.or_(part, exp.GT(this=column(BROKEN), expression=literal(0))) for part in kept
        ]
    query = query.where(*kept, copy=False) if kept else query
    return query.group_by(*names, copy=False) if names else query


def _sum(rows_of: Rows, place: int, tally: Tally) -> exp.Expr:
    # a row moves its unit's part from one end of its range to the other at most
    most, dialect = 2 * max(-tally.low, tally.high), rows_of.dialect
    if not alone(rows_of.plan, rows_of.catalog):
        added = total(column(f"t{place}"), most, dialect)
    elif isinstance(tally, TreeTally):
        return literal(0)  # its leaves are counted by themselves
    else:
        added = total_alone(rows_of.number_of(tally), most, dialect)
    return exp.func("COALESCE", added, literal(0))


def _leaves(rows_of: Rows, place: int, source: str) -> exp.Select:
    """The cells of a tree that kept rows fall into, and how many, beside no other tally."""
    plan = rows_of.plan
    cell = rows_of.value(plan.tallies[place])
    groups = [*map(column, rows_of.key_names), cell]
    counts = [
        exp.Count(this=exp.Star()) if other == place else literal(0)
        for other in range(len(plan.tallies))
    ]
    kept: list[exp.Expr] = []
    if not row_by_row(plan, rows_of.catalog):
        source = RANKED
        kept = [
            exp.LTE(this=column(ROW_RANK), expression=literal(plan.max_rows)),
            exp.LTE(this=column(GROUP_RANK), expression=literal(plan.max_groups)),
        ]
    elif not alone(plan, rows_of.catalog):
        kept = [exp.LT(this=column(EARLIER), expression=literal(plan.max_rows))]
    none = [alias(literal(0), BROKEN)] if rows_of.streamed else []
    query = chosen(source, *groups, *counts, *none)
    return query.where(*kept, exp.not_(is_null(cell)), copy=False).group_by(*groups, copy=False)


def _trees(plan: BoundedPlan) -> list[int]:
    return [place for place, tally in enumerate(plan.tallies) if isinstance(tally, TreeTally)]
