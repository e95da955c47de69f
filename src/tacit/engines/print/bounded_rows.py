"""Relations that bound the rows of each unit, and what the rows add to their groups.

A statement is a chain of relations. First come the rows that satisfy the conditions, with their
unit, their group keys and the values that tallies need. Then the rows of each unit are limited.
At last each row, or each unit, adds a bounded amount to each of its groups.
"""

from dataclasses import replace

from sqlglot import exp

from tacit.core import Catalog, Column, Kind, Schema, UnitColumn
from tacit.engines.engine import fold_salt
from tacit.engines.print import sql_builder as build
from tacit.engines.print.expressions import (
    condition,
    group_name,
    is_group,
    is_text,
    is_text_value,
    row_value,
    stages,
)
from tacit.engines.print.ranking import (
    BROKEN,
    PLACE,
    UNIT,
    RowContext,
    RowOrder,
    copy_to_read,
    kept_rows,
    lagged_name,
    limits_groups,
    row_by_row,
)
from tacit.engines.print.relation import Relations, rows
from tacit.engines.print.sums_and_hashes import hash_columns
from tacit.plan import (
    ConstantCondition,
    DistinctTally,
    FirstPeriods,
    Fold,
    RowSumTally,
    RowTally,
    Source,
    Tally,
    TotalTally,
    TreeTally,
    UnitTally,
    non_null_columns,
    one_row,
    row_keys,
)

PERIOD, SEEN = "tacit_period", "tacit_seen"
SEEN_SO_FAR, NOW = "tacit_seen_so_far", "tacit_now"


def rows_of_period(first: FirstPeriods, below: str) -> dict[str, exp.Query]:
    """Return relations above ``below`` that keep the rows of the current period.

    A row is kept if this period is among the first ``first.most`` periods of its unit.
    """
    # a period is the text of its first day, so that texts are ordered like time
    order = exp.Order(expressions=[exp.Ordered(this=build.column(PERIOD))])
    rank = exp.Window(this=exp.DenseRank(), partition_by=[build.column(UNIT)], order=order)
    return {
        SEEN_SO_FAR: build.select_from(below, exp.Star(), build.alias(rank, SEEN)),
        NOW: build.select_from(SEEN_SO_FAR).where(
            exp.EQ(this=build.column(PERIOD), expression=build.literal(first.now)),
            exp.LTE(this=build.column(SEEN), expression=build.literal(first.most)),
            copy=False,
        ),
    }


# ------------------------------------------------------------------ bounded rows
# The rows of a question with their unit, keys and values, limited to the first of each unit.

ROWS, MIXED, GROUPED = "tacit_rows", "tacit_mixed", "tacit_grouped"
MIX, PARTS = "tacit_mix", "tacit_parts"


def bounded_rows(rows_of: RowContext) -> Relations:
    """Return relations of which the last one has the rows that count, limited per unit."""
    plan, catalog = rows_of.plan, rows_of.catalog
    copy = copy_to_read(plan, catalog) if rows_of.use_copy else None
    if copy is None:
        return _rows(rows_of, "", rows_of)
    made: Relations = {}
    ends = []
    for place, table in enumerate(copy.tables):
        part = replace(rows_of, catalog=with_table(catalog, plan.source.dataset, table))
        made |= _rows(part, f"_{place}", rows_of)
        ends.append(build.select_from(list(made)[-1]))
    made[PARTS] = ends[0] if len(ends) == 1 else exp.union(*ends, distinct=False)
    return made


def _rows(rows_of: RowContext, level: str, whole: RowContext) -> Relations:
    """Return the relations for one table, which may be a part of a copy.

    ``whole`` is the context of the whole question, which says whether a copy is read.
    """
    plan, catalog, placed = rows_of.plan, rows_of.catalog, whole.copied
    made = rows(plan.source, catalog, rows_of.dialect, level, rows_of.salt)
    used = plan.condition, plan.keys, plan.tallies, plan.first_periods
    made |= stages(used, list(made)[-1], level, non_null_columns(plan.condition))
    made[f"{ROWS}{level}"] = _select_rows(rows_of, list(made)[-1], placed=placed)
    if plan.first_periods is not None:
        made |= rows_of_period(plan.first_periods, list(made)[-1])
    most = plan.max_rows_in_all
    if most is None or one_row(plan.source, catalog):
        return made | _rows_in_groups(whole, list(made)[-1], level)
    first, *rest = whole.row_order
    if not placed:
        # compute the hash once, not in each window function
        mixed_rows = build.select_from(list(made)[-1], exp.Star(), build.alias(first, MIX))
        made[f"{MIXED}{level}"], first = mixed_rows, build.column(MIX)
    order = RowOrder(() if whole.streamed else (first, *rest), whole.number)
    lagged = _lagged_columns(whole) if row_by_row(plan, catalog) else []
    made |= kept_rows(list(made)[-1], lagged, most, order, level)
    return made | _rows_in_groups(whole, list(made)[-1], level)


def _lagged_columns(rows_of: RowContext) -> list[str]:
    """Return the columns whose values in the preceding rows are needed."""
    added_up = [
        name
        for tally in rows_of.plan.tallies
        if is_added_up(tally)
        for name in rows_of.carried_columns(tally).values()
    ]
    unit = [] if rows_of.number else [UNIT]
    return [*unit, *rows_of.key_names, *dict.fromkeys(added_up)]


def _rows_in_groups(rows_of: RowContext, below: str, level: str) -> Relations:
    """Return the relation of rows in a group of the answer, and of rows out of order."""
    keys, dialect = rows_of.plan.keys, rows_of.dialect
    inside = [is_group(key, f"k{at}", dialect) for at, key in enumerate(keys)]
    if not inside:
        return {}
    there = exp.and_(*inside)
    if rows_of.streamed:
        there = exp.or_(there, exp.EQ(this=build.column(BROKEN), expression=build.literal(1)))
    return {f"{GROUPED}{level}": build.select_from(below).where(there, copy=False)}


def _select_rows(rows_of: RowContext, source: str, *, placed: bool) -> exp.Select:
    """Return the rows that count, with their unit, keys and the values that tallies need."""
    plan = rows_of.plan
    dialect, unit = rows_of.dialect, build.column(plan.source.unit)
    values = [
        build.alias(build.bytewise(row_value(value), dialect, text=is_text_value(value)), name)
        for value, name in rows_of.values.items()
    ]
    cells = [(UNIT, unit, rows_of.unit_part[1])]
    cells += [(f"k{at}", group_name(key), is_text(key)) for at, key in enumerate(plan.keys)]
    if plan.first_periods is not None:
        cells.append((PERIOD, group_name(plan.first_periods.period), True))
    # never the condition alone: Spark reads WHERE (TRUE) as an alias WHERE with a column TRUE
    known = has_units_only(plan.source, rows_of.catalog)
    is_there = exp.true() if known else exp.not_(build.is_null(unit))
    where = [is_there, condition(plan.condition)]
    if plan.fold is not None:
        where.append(_is_in_fold(rows_of, plan.fold))
    if placed:
        place_name = f"{plan.source.dataset}.{PLACE}"
        values.append(build.alias(build.column(place_name), PLACE))
        if rows_of.all_count:
            # no condition removes rows, so rows after the limit can be left out early
            most = build.literal(plan.max_rows_in_all)
            where.append(exp.LTE(this=build.column(place_name), expression=most))
    else:
        found = row_keys(plan.source, rows_of.catalog)
        cells += [
            (f"r{at}", build.column(name), kind is Kind.TEXT)
            for at, (name, kind) in enumerate(found)
        ]
    named_cells = [
        build.alias(build.bytewise(cell, dialect, text=text), name)
        for name, cell, text in cells
    ]
    return build.select_from(source, *named_cells, *values).where(*where, copy=False)


def has_units_only(source: Source, catalog: Catalog) -> bool:
    """Return whether no row of ``source`` can lack a unit, so that no condition must say so.

    A copy of a table with one row for each unit has no row without a unit
    (`tacit.engines.print.copy_statement`), and a question relies on that copy for more: that no
    unit has two rows. A condition on the unit would make a column store read and decompress
    the column of units, which nothing else of such a question needs.

    Guarantee: the result depends on declarations only.
    """
    table = catalog.dataset(source.dataset)
    if source.gathered is not None or source.beside or table.copy is None:
        return False
    named = isinstance(table.unit, UnitColumn) and table.unit.column in table.copy.unique
    return named and source.unit == f"{table.name}.{table.unit.column}"


def _is_in_fold(rows_of: RowContext, fold: Fold) -> exp.Expr:
    """Return the condition that the unit of a row is in a fold, or outside of it."""
    unit = (rows_of.plan.source.unit, rows_of.unit_part[1])
    mix = build.paren(hash_columns(fold_salt(rows_of.salt), [unit], rows_of.dialect))
    compared = exp.NEQ if fold.outside else exp.EQ
    number = build.paren(exp.Mod(this=mix, expression=build.literal(fold.folds)))
    return compared(this=number, expression=build.literal(fold.number))


def is_added_up(tally: Tally) -> bool:
    """Return whether a tally needs values of the preceding rows, and not only their number."""
    if isinstance(tally, RowTally):
        return tally.condition != ConstantCondition(True)
    return isinstance(tally, TotalTally)


def with_table(catalog: Catalog, name: str, table: tuple[str, ...]) -> Catalog:
    """Return the catalogue with one table of an ordered copy in place of the dataset."""
    dataset = catalog.dataset(name)
    placed = Schema((*dataset.schema.copied.columns, Column(PLACE, Kind.INTEGER)))
    part = replace(
        dataset, location=replace(dataset.location, table=table), schema=placed, copy=None
    )
    others = [each for each in catalog.datasets if each.name != name]
    return replace(catalog, datasets=(part, *others))


# ------------------------------------------------------------------ by row
# The contribution of each row to its group, computed from the row and the few preceding rows of
# its unit: the amount by which the row changes the clamped sum of its unit. The contributions
# of a unit's rows therefore add up to the clamped sum, without a GROUP BY unit.

SAME = "tacit_same"
BESIDE, ADDED = "tacit_beside", "tacit_added"
EARLIER = "tacit_earlier"
"""The number of preceding rows of the same unit and group."""


def added_by_row(rows_of: RowContext, below: str) -> dict[str, exp.Select]:
    """Return relations of which the last one has the contribution of each kept row.

    The contribution to each tally is a column t0, t1 and so on.
    """
    back = (rows_of.plan.max_rows_in_all or 1) - 1
    marked = build.select_from(below)
    for step in range(1, back + 1):
        marked = marked.select(
            build.alias(_same_group_flag(rows_of, step), f"{SAME}_{step}"), copy=False
        )
    made = {BESIDE: marked}
    earlier = _sum_of([build.column(f"{SAME}_{step}") for step in range(1, back + 1)])
    counted = build.select_from(BESIDE, exp.Star(), build.alias(earlier, EARLIER))
    for place, tally in enumerate(rows_of.plan.tallies):
        if is_added_up(tally):
            sums = [_earlier_value(rows_of, tally, step) for step in range(1, back + 1)]
            counted = counted.select(build.alias(_sum_of(sums), f"s{place}"), copy=False)
    made[EARLIER] = counted
    tallies = [
        build.alias(_row_contribution(rows_of, tally, place), f"t{place}")
        for place, tally in enumerate(rows_of.plan.tallies)
    ]
    made[ADDED] = _select_added(rows_of, EARLIER, tallies)
    return made


def _select_added(rows_of: RowContext, below: str, tallies: list[exp.Expr]) -> exp.Select:
    """Return the contributions of rows, with columns for trees and the check of order."""
    names = map(build.column, rows_of.key_names)
    trees = [tally for tally in rows_of.plan.tallies if isinstance(tally, TreeTally)]
    cells = list(dict.fromkeys(map(rows_of.value, trees)))
    for_trees = [*cells, build.column(EARLIER)] if cells else []
    broken = [build.column(BROKEN)] if rows_of.streamed else []
    return build.select_from(below, *names, *tallies, *for_trees, *broken)


def _same_group_flag(rows_of: RowContext, step: int) -> exp.Expr:
    """Return 1 if the row ``step`` rows before has the same unit and group, otherwise 0."""
    names = rows_of.key_names if rows_of.number else [UNIT, *rows_of.key_names]
    equal: list[exp.Expr] = [
        exp.EQ(this=build.column(lagged_name(name, step)), expression=build.column(name))
        for name in names
    ]
    if rows_of.number:
        equal.insert(
            0, exp.GT(this=build.column(rows_of.number), expression=build.literal(step))
        )
    return build.choose([(exp.and_(*equal), build.literal(1))], build.literal(0))


def _earlier_value(rows_of: RowContext, tally: Tally, step: int) -> exp.Expr:
    value = exp.func("COALESCE", rows_of.value(tally, step), build.literal(0))
    is_same = exp.EQ(this=build.column(f"{SAME}_{step}"), expression=build.literal(1))
    return build.choose([(is_same, value)], build.literal(0))


def _sum_of(parts: list[exp.Expr]) -> exp.Expr:
    total: exp.Expr = build.literal(0)
    for part in parts:
        total = exp.Add(this=total, expression=part)
    return build.paren(total)


def _row_contribution(rows_of: RowContext, tally: Tally, place: int) -> exp.Expr:
    """Return what a row adds to a tally: an integer, or the value that is counted once."""
    if isinstance(tally, DistinctTally):
        kept = exp.LT(
            this=build.column(EARLIER), expression=build.literal(rows_of.plan.max_rows)
        )
        return build.choose([(kept, rows_of.value(tally))], None)
    return build.cast(_row_amount(rows_of, tally, place), "BIGINT")


def _row_amount(rows_of: RowContext, tally: Tally, place: int) -> exp.Expr:
    value = exp.func("COALESCE", rows_of.value(tally), build.literal(0))
    match tally:
        case UnitTally():
            first = exp.EQ(this=build.column(EARLIER), expression=build.literal(0))
            return build.choose([(first, build.literal(1))], build.literal(0))
        case TreeTally() | DistinctTally():
            return build.literal(0)
        case RowSumTally():
            kept = exp.LT(
                this=build.column(EARLIER), expression=build.literal(rows_of.plan.max_rows)
            )
            return build.choose([(kept, rows_of.value(tally))], None)
        case RowTally(_, high, _):
            earlier = build.column(f"s{place}" if is_added_up(tally) else EARLIER)
            fits = exp.LT(this=earlier, expression=build.literal(high))
            return build.choose([(fits, value)], build.literal(0))
        case TotalTally(_, low, high):
            earlier = build.column(f"s{place}")
            now = build.paren(exp.Add(this=earlier, expression=value))
            moved = exp.Sub(
                this=_clamp_sum(now, low, high), expression=_clamp_sum(earlier, low, high)
            )
            # the first value of a unit is within the bounds of the sum
            alone = exp.EQ(this=build.column(EARLIER), expression=build.literal(0))
            return build.choose([(alone, rows_of.value(tally))], build.paren(moved))


def _clamp_sum(total: exp.Expr, low: int, high: int) -> exp.Expr:
    """Return a clamped sum; if a bound is 0, no value and no sum can be outside of it."""
    pairs: list[tuple[exp.Expr, exp.Expr]] = []
    if high:
        pairs.append((exp.GT(this=total, expression=build.literal(high)), build.literal(high)))
    if low:
        pairs.append((exp.LT(this=total, expression=build.literal(low)), build.literal(low)))
    return build.choose(pairs, total) if pairs else build.literal(0)


# ------------------------------------------------------------------ length
# The rows of a unit, by group, are a vector of numbers of rows. Rows are kept while this vector
# is not too long: the n-th row of a group adds 2 * n - 1, and the first n odd numbers add up to
# n**2. A row above the limit of its group can never be kept, and so adds nothing.

NUMBERED, MEASURED, SHORT = "tacit_numbered", "tacit_measured", "tacit_short"
NUMBER_IN_GROUP, LENGTH = "tacit_number_in_group", "tacit_length"


def rows_within_length(rows_of: RowContext, below: str) -> Relations:
    """Return relations of which the last one has the rows of each unit within its length."""
    most, order = rows_of.plan.max_squares, rows_of.row_order
    if most is None:
        return {}
    rank = _rank(exp.RowNumber(), [UNIT, *rows_of.key_names], order)
    number = build.column(NUMBER_IN_GROUP)
    fits = exp.LTE(this=number, expression=build.literal(rows_of.plan.max_rows))
    odd = exp.Sub(
        this=exp.Mul(this=build.literal(2), expression=number), expression=build.literal(1)
    )
    added = exp.Sum(this=build.choose([(fits, odd)], build.literal(0)))
    # rows that are equal in the order of rows are ordered by their numbers
    running = _rank(added, [UNIT], (*order, number))
    running.set(
        "spec",
        exp.WindowSpec(
            kind="ROWS",
            start="UNBOUNDED",
            start_side="PRECEDING",
            end="CURRENT ROW",
        ),
    )
    kept = exp.and_(fits, exp.LTE(this=build.column(LENGTH), expression=build.literal(most)))
    if rows_of.streamed:
        kept = exp.or_(kept, exp.EQ(this=build.column(BROKEN), expression=build.literal(1)))
    return {
        NUMBERED: build.select_from(below, exp.Star(), build.alias(rank, NUMBER_IN_GROUP)),
        MEASURED: build.select_from(NUMBERED, exp.Star(), build.alias(running, LENGTH)),
        SHORT: build.select_from(MEASURED).where(kept, copy=False),
    }


# ------------------------------------------------------------------ by unit
# The contribution of each unit to each of its groups: rows are grouped by unit and group first.

RANKED, UNITS, CHOSEN = "tacit_ranked", "tacit_units", "tacit_chosen"
ROW_RANK, GROUP_RANK = "tacit_row", "tacit_group"


def added_by_unit(rows_of: RowContext, below: str) -> Relations:
    """Return relations of which the last one has the contribution of each unit to a group.

    The contribution to each tally is a column t0, t1 and so on. If a unit can be in more groups
    than its limit, the groups of a unit are ranked.
    """
    plan = rows_of.plan
    made: Relations = {}
    if any(not isinstance(tally, UnitTally | RowTally | TotalTally) for tally in plan.tallies):
        made[RANKED] = ranked_rows(rows_of, below)
    made[UNITS] = _units(rows_of, list(made)[-1] if made else below)
    if limits_groups(plan):
        rank = _rank(exp.RowNumber(), [UNIT], rows_of.group_order)
        made[CHOSEN] = build.select_from(UNITS, exp.Star(), build.alias(rank, GROUP_RANK))
    return made


def ranked_rows(rows_of: RowContext, below: str) -> exp.Select:
    """Return the rows with their rank among the rows of the same unit and group."""
    names = rows_of.key_names
    rank = _rank(exp.RowNumber(), [UNIT, *names], rows_of.row_order)
    query = build.select_from(below, exp.Star(), build.alias(rank, ROW_RANK))
    if any(isinstance(tally, TreeTally | DistinctTally) for tally in rows_of.plan.tallies):
        # all rows of a group have the rank of the group among the unit's groups
        rank = _rank(exp.DenseRank(), [UNIT], rows_of.group_order)
        query = query.select(build.alias(rank, GROUP_RANK), copy=False)
    return query


def _units(rows_of: RowContext, source: str) -> exp.Select:
    """Return the clamped contribution of each unit to each of its groups."""
    plan, names = rows_of.plan, rows_of.key_names
    tallies = [
        build.alias(build.cast(_unit_contribution(rows_of, tally), "BIGINT"), f"t{place}")
        for place, tally in enumerate(plan.tallies)
    ]
    if rows_of.streamed:
        tallies.append(build.alias(exp.Max(this=build.column(BROKEN)), BROKEN))
    query = build.select_from(source, *map(build.column, [UNIT, *names]), *tallies)
    return query.group_by(*map(build.column, [UNIT, *names]), copy=False)


def _rank(rank: exp.Expr, partition: list[str], order: tuple[exp.Expr, ...]) -> exp.Expr:
    """Return a ranking window function over a partition, in the given order."""
    ordered = exp.Order(expressions=[exp.Ordered(this=part) for part in order])
    return exp.Window(
        this=rank, partition_by=[build.column(name) for name in partition], order=ordered
    )


def _unit_contribution(rows_of: RowContext, tally: Tally) -> exp.Expr:
    """Return the contribution of a unit to a group, as an aggregate of its rows in it."""
    value, max_rows = rows_of.value(tally), rows_of.plan.max_rows
    match tally:
        case UnitTally():
            return build.literal(1)
        case TreeTally() | DistinctTally():
            return build.literal(0)  # rows are counted for all units together
        case RowSumTally():
            first = exp.LTE(this=build.column(ROW_RANK), expression=build.literal(max_rows))
            total = exp.Sum(this=build.choose([(first, value)], None))
            return exp.func("COALESCE", total, build.literal(0))
        case RowTally(_, high, low) | TotalTally(_, low, high):
            total = exp.Sum(this=value)
            inside = build.clamp(total, build.literal(low), build.literal(high))
            return exp.func("COALESCE", inside, build.literal(0))
