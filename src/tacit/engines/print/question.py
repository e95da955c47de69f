"""A bounded question as one statement: rows, then what each unit adds to a group, then sums."""

from sqlglot import exp

from tacit.core.catalog import Catalog
from tacit.engines.print.dialect import said
from tacit.engines.print.gather import rows
from tacit.engines.print.key import is_public, named
from tacit.engines.print.rank import mixed, ranked
from tacit.engines.print.row import condition, steps
from tacit.engines.print.stage import stages
from tacit.engines.print.word import choose, clamped, column, is_null, literal
from tacit.plan.bounded import BoundedPlan, ColumnKey
from tacit.plan.sensitivity import group_count
from tacit.plan.tally import KeptTally, RowTally, Tally, TotalTally, TreeTally, UnitTally

ROWS, RANKED, UNITS, CHOSEN = "tacit_rows", "tacit_ranked", "tacit_units", "tacit_chosen"
UNIT, ROW_RANK, GROUP_RANK = "tacit_unit", "tacit_row", "tacit_group"
CELL = "tacit_cell"


def question(plan: BoundedPlan, catalog: Catalog, salt: bytes, dialect: str) -> str:
    """The statement that answers ``plan``: a column for each key, then one for each tally.

    Where a tally is a tree, a column before the tallies holds a cell: rows of a group where it
    is not below 0 count a leaf.

    Which rows and groups of a unit are kept is decided by a hash of the salt, the unit and the
    row's own columns: a function of the unit's own rows, sound for every salt.
    """
    relations = rows(plan.source, catalog, dialect)
    relations |= stages((plan.condition, plan.keys, plan.tallies), list(relations)[-1])
    relations[ROWS] = _rows(plan, list(relations)[-1])
    if any(isinstance(tally, KeptTally | TreeTally) for tally in plan.tallies):
        relations[RANKED] = _ranked(plan, salt)
    relations[UNITS] = _units(plan, list(relations)[-1])
    groups = group_count(plan)
    if groups is None or groups > plan.max_groups:
        relations[CHOSEN] = _chosen(plan, salt)
    sums = _sums(plan, list(relations)[-1])
    leaves = [_leaves(plan, place) for place in _trees(plan)]
    query: exp.Query = exp.union(sums, *leaves, distinct=False) if leaves else sums
    for name, relation in relations.items():
        # shared, not copied: the tree is copied once where its text is made
        query = query.with_(name, as_=relation, copy=False)
    return said(query, dialect)


def _rows(plan: BoundedPlan, source: str) -> exp.Select:
    """The rows that count, with their unit, their keys and what their tallies need of them."""
    values = [
        exp.alias_(_value(tally), f"v{place}")
        for place, tally in enumerate(plan.tallies)
        if not isinstance(tally, UnitTally)
    ]
    keys = [exp.alias_(named(key), f"k{place}") for place, key in enumerate(plan.keys)]
    public = [is_public(key) for key in plan.keys if isinstance(key, ColumnKey) and key.keys]
    return (
        exp.select(exp.alias_(column(plan.source.unit), UNIT), *keys, *values)
        .from_(source)
        .where(exp.not_(is_null(column(plan.source.unit))), condition(plan.condition), *public)
    )


def _ranked(plan: BoundedPlan, salt: bytes) -> exp.Select:
    """The rows, with their place among those of their unit in their group."""
    kept = [
        f"v{place}"
        for kind in (KeptTally, TreeTally)
        for place, tally in enumerate(plan.tallies)
        if isinstance(tally, kind)
    ]
    names = _key_names(plan)
    order = [mixed(salt, [UNIT, *names, *kept]), *map(column, kept)]
    rank = ranked(exp.RowNumber(), [UNIT, *names], order)
    query = exp.select("*", exp.alias_(rank, ROW_RANK)).from_(ROWS)
    if _trees(plan):
        # the rows of a group share its place among those of their unit, which `_chosen` finds
        order = [mixed(salt, [UNIT, *names]), *map(column, names)]
        rank = ranked(exp.DenseRank(), [UNIT], order)
        query = query.select(exp.alias_(rank, GROUP_RANK))
    there = [exp.not_(is_null(column(name))) for name in names]
    return query.where(*there) if there else query


def _units(plan: BoundedPlan, source: str) -> exp.Select:
    """What each unit adds to each of its groups, clamped."""
    names = [UNIT, *_key_names(plan)]
    tallies = [
        exp.alias_(exp.cast(_of_unit(tally, place, plan.max_rows), "BIGINT"), f"t{place}")
        for place, tally in enumerate(plan.tallies)
    ]
    there = [exp.not_(is_null(column(name))) for name in _key_names(plan)]
    query = exp.select(*map(column, names), *tallies).from_(source)
    return query.where(*there).group_by(*map(column, names)) if there else query.group_by(UNIT)


def _chosen(plan: BoundedPlan, salt: bytes) -> exp.Select:
    """What each unit adds, with the place of the group among its own."""
    names = _key_names(plan)
    order = [mixed(salt, [UNIT, *names]), *map(column, names)]
    rank = ranked(exp.RowNumber(), [UNIT], order)
    return exp.select("*", exp.alias_(rank, GROUP_RANK)).from_(UNITS)


def _sums(plan: BoundedPlan, source: str) -> exp.Select:
    """The groups, and the sum of what their units add."""
    names = [column(name) for name in _key_names(plan)]
    sums = [
        exp.func("COALESCE", exp.Sum(this=column(f"t{place}")), literal(0))
        for place in range(len(plan.tallies))
    ]
    no_cell = [exp.alias_(literal(-1), CELL)] if _trees(plan) else []
    query = exp.select(*names, *no_cell, *sums).from_(source)
    if source == CHOSEN:
        query = query.where(
            exp.LTE(this=column(GROUP_RANK), expression=literal(plan.max_groups))
        )
    return query.group_by(*names) if names else query


def _leaves(plan: BoundedPlan, place: int) -> exp.Select:
    """The cells of a tree that kept rows fall into, and how many, beside no other tally."""
    cell = column(f"v{place}")
    groups = [*map(column, _key_names(plan)), cell]
    counts = [
        exp.Count(this=exp.Star()) if other == place else literal(0)
        for other in range(len(plan.tallies))
    ]
    return (
        exp.select(*groups, *counts)
        .from_(RANKED)
        .where(
            exp.LTE(this=column(ROW_RANK), expression=literal(plan.max_rows)),
            exp.LTE(this=column(GROUP_RANK), expression=literal(plan.max_groups)),
            exp.not_(is_null(cell)),
        )
        .group_by(*groups)
    )


def _trees(plan: BoundedPlan) -> list[int]:
    return [place for place, tally in enumerate(plan.tallies) if isinstance(tally, TreeTally)]


def _key_names(plan: BoundedPlan) -> list[str]:
    return [f"k{place}" for place in range(len(plan.keys))]


def _value(tally: Tally) -> exp.Expr:
    """What a tally needs of one row."""
    match tally:
        case RowTally(wanted, _, _):
            return choose([(condition(wanted), literal(1))], literal(0))
        case TotalTally(number, _, _) | KeptTally(number, _, _):
            return steps(number)
        case TreeTally():
            return steps(tally.cell)
        case UnitTally():
            return literal(1)


def _of_unit(tally: Tally, place: int, max_rows: int) -> exp.Expr:
    """What a unit adds to a group, by its rows there."""
    value = column(f"v{place}")
    match tally:
        case UnitTally():
            return literal(1)
        case TreeTally():
            return literal(0)
        case KeptTally():
            first = exp.LTE(this=column(ROW_RANK), expression=literal(max_rows))
            total = exp.Sum(this=choose([(first, value)], None))
            return exp.func("COALESCE", total, literal(0))
        case RowTally(_, high, low) | TotalTally(_, low, high):
            total = exp.Sum(this=value)
            inside = clamped(total, literal(low), literal(high))
            return exp.func("COALESCE", inside, literal(0))
