"""What each unit adds to each of its groups: its rows there are grouped first."""

from sqlglot import exp

from tacit.engines.print.form import choosing
from tacit.engines.print.gather import Relations
from tacit.engines.print.kept_rows import BROKEN, UNIT
from tacit.engines.print.rows import Rows
from tacit.engines.print.word import alias, cast, choose, chosen, clamped, column, literal
from tacit.plan.tally import KeptTally, RowTally, Tally, TotalTally, TreeTally, UnitTally

RANKED, UNITS, CHOSEN = "tacit_ranked", "tacit_units", "tacit_chosen"
ROW_RANK, GROUP_RANK = "tacit_row", "tacit_group"


def added_by_unit(rows_of: Rows, below: str) -> Relations:
    """The relations of which the last has what each unit adds to a group, as t0, t1 and so on.

    Where a unit can be in more groups than it keeps, it has their places among its own.
    """
    plan = rows_of.plan
    made: Relations = {}
    if any(isinstance(tally, KeptTally | TreeTally) for tally in plan.tallies):
        made[RANKED] = ranked(rows_of, below)
    made[UNITS] = _units(rows_of, list(made)[-1] if made else below)
    if choosing(plan):
        rank = _rank(exp.RowNumber(), [UNIT], rows_of.group_order)
        made[CHOSEN] = chosen(UNITS, exp.Star(), alias(rank, GROUP_RANK))
    return made


def ranked(rows_of: Rows, below: str) -> exp.Select:
    """The rows, with their place among those of their unit in their group."""
    names = rows_of.key_names
    rank = _rank(exp.RowNumber(), [UNIT, *names], rows_of.row_order)
    query = chosen(below, exp.Star(), alias(rank, ROW_RANK))
    if any(isinstance(tally, TreeTally) for tally in rows_of.plan.tallies):
        # the rows of a group share its place among those of their unit
        rank = _rank(exp.DenseRank(), [UNIT], rows_of.group_order)
        query = query.select(alias(rank, GROUP_RANK), copy=False)
    return query


def _units(rows_of: Rows, source: str) -> exp.Select:
    """What each unit adds to each of its groups, clamped."""
    plan, names = rows_of.plan, rows_of.key_names
    tallies = [
        alias(cast(_of_unit(rows_of, tally), "BIGINT"), f"t{place}")
        for place, tally in enumerate(plan.tallies)
    ]
    if rows_of.streamed:
        tallies.append(alias(exp.Max(this=column(BROKEN)), BROKEN))
    query = chosen(source, *map(column, [UNIT, *names]), *tallies)
    return query.group_by(*map(column, [UNIT, *names]), copy=False)


def _rank(rank: exp.Expr, partition: list[str], order: tuple[exp.Expr, ...]) -> exp.Expr:
    """The place of a row in its part, in that order."""
    ordered = exp.Order(expressions=[exp.Ordered(this=part) for part in order])
    return exp.Window(
        this=rank, partition_by=[column(name) for name in partition], order=ordered
    )


def _of_unit(rows_of: Rows, tally: Tally) -> exp.Expr:
    """What a unit adds to a group, by its rows there."""
    value, max_rows = rows_of.value(tally), rows_of.plan.max_rows
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
