"""The rows of a question with their unit, keys and values, and at most so many of each unit."""

from dataclasses import replace

from sqlglot import exp

from tacit.core.catalog import Catalog
from tacit.core.column import Column, Kind
from tacit.core.schema import Schema
from tacit.engines.mix import fold_salt
from tacit.engines.print.first_periods import PERIOD, rows_now
from tacit.engines.print.form import copy_to_read, row_by_row
from tacit.engines.print.gather import Relations, rows
from tacit.engines.print.kept_rows import BROKEN, PLACE, UNIT, RowOrder, kept_rows
from tacit.engines.print.key import is_group, is_text, named
from tacit.engines.print.mix import mixed
from tacit.engines.print.row import condition, steps
from tacit.engines.print.rows import Rows
from tacit.engines.print.stage import stages
from tacit.engines.print.word import (
    alias,
    bytewise,
    chosen,
    column,
    is_null,
    literal,
    paren,
)
from tacit.plan.columns_there import columns_there
from tacit.plan.fold import Fold
from tacit.plan.row_key import row_keys
from tacit.plan.source import one_row
from tacit.plan.steps import Known
from tacit.plan.tally import RowTally, Tally, TotalTally

ROWS, MIXED, GROUPED = "tacit_rows", "tacit_mixed", "tacit_grouped"
MIX, PARTS = "tacit_mix", "tacit_parts"


def bounded_rows(rows_of: Rows) -> Relations:
    """The relations of which the last holds the rows that count, at most so many of a unit."""
    plan, catalog = rows_of.plan, rows_of.catalog
    copy = copy_to_read(plan, catalog) if rows_of.use_copy else None
    if copy is None:
        return _rows(rows_of, "", rows_of)
    made: Relations = {}
    ends = []
    for place, table in enumerate(copy.tables):
        part = replace(rows_of, catalog=with_table(catalog, plan.source.dataset, table))
        made |= _rows(part, f"_{place}", rows_of)
        ends.append(chosen(list(made)[-1]))
    made[PARTS] = ends[0] if len(ends) == 1 else exp.union(*ends, distinct=False)
    return made


def _rows(rows_of: Rows, level: str, whole: Rows) -> Relations:
    """Of one table: the question's own, or a part of its copy; ``whole`` says which."""
    plan, catalog, placed = rows_of.plan, rows_of.catalog, whole.copied
    made = rows(plan.source, catalog, rows_of.dialect, level)
    used = plan.condition, plan.keys, plan.tallies, plan.first_periods
    made |= stages(used, list(made)[-1], level, columns_there(plan.condition))
    made[f"{ROWS}{level}"] = _counted(rows_of, list(made)[-1], placed=placed)
    if plan.first_periods is not None:
        made |= rows_now(plan.first_periods, list(made)[-1])
    most = plan.max_rows_in_all
    if most is None or one_row(plan.source, catalog):
        return made | _grouped(whole, list(made)[-1], level)
    first, *rest = whole.row_order
    if not placed:
        # once, and not in every function of the rows before
        mixed_rows = chosen(list(made)[-1], exp.Star(), alias(first, MIX))
        made[f"{MIXED}{level}"], first = mixed_rows, column(MIX)
    order = RowOrder(() if whole.streamed else (first, *rest), whole.number)
    beside = _beside(whole) if row_by_row(plan, catalog) else []
    made |= kept_rows(list(made)[-1], beside, most, order, level)
    return made | _grouped(whole, list(made)[-1], level)


def _beside(rows_of: Rows) -> list[str]:
    """The columns that are needed of the rows before each one."""
    added_up = [
        name
        for tally in rows_of.plan.tallies
        if is_added_up(tally)
        for name in rows_of.carried(tally).values()
    ]
    unit = [] if rows_of.number else [UNIT]
    return [*unit, *rows_of.key_names, *dict.fromkeys(added_up)]


def _grouped(rows_of: Rows, below: str, level: str) -> Relations:
    """The rows that are in a group of the answer, and any that is out of its place."""
    keys, dialect = rows_of.plan.keys, rows_of.dialect
    inside = [is_group(key, f"k{at}", dialect) for at, key in enumerate(keys)]
    if not inside:
        return {}
    there = exp.and_(*inside)
    if rows_of.streamed:
        there = exp.or_(there, exp.EQ(this=column(BROKEN), expression=literal(1)))
    return {f"{GROUPED}{level}": chosen(below).where(there, copy=False)}


def _counted(rows_of: Rows, source: str, *, placed: bool) -> exp.Select:
    """The rows that count, with their unit, their keys and what their tallies need of them."""
    plan = rows_of.plan
    values = [alias(steps(number), name) for number, name in rows_of.values.items()]
    dialect, unit = rows_of.dialect, column(plan.source.unit)
    cells = [(UNIT, unit, rows_of.unit_part[1])]
    cells += [(f"k{at}", named(key), is_text(key)) for at, key in enumerate(plan.keys)]
    if plan.first_periods is not None:
        cells.append((PERIOD, named(plan.first_periods.period), True))
    where = [exp.not_(is_null(unit)), condition(plan.condition)]
    if plan.fold is not None:
        where.append(_of_fold(rows_of, plan.fold))
    if placed:
        place_name = f"{plan.source.dataset}.{PLACE}"
        values.append(alias(column(place_name), PLACE))
        if rows_of.all_count:
            # the first in all are the first of those that count: the others are left out early
            most = literal(plan.max_rows_in_all)
            where.append(exp.LTE(this=column(place_name), expression=most))
    else:
        found = row_keys(plan.source, rows_of.catalog)
        cells += [
            (f"r{at}", column(name), kind is Kind.TEXT) for at, (name, kind) in enumerate(found)
        ]
    named_cells = [
        alias(bytewise(cell, dialect, text=text), name) for name, cell, text in cells
    ]
    return chosen(source, *named_cells, *values).where(*where, copy=False)


def _of_fold(rows_of: Rows, fold: Fold) -> exp.Expr:
    """Whether the unit of a row is of that part of all units."""
    unit = (rows_of.plan.source.unit, rows_of.unit_part[1])
    mix = paren(mixed(fold_salt(rows_of.salt), [unit], rows_of.dialect))
    compared = exp.NEQ if fold.outside else exp.EQ
    number = paren(exp.Mod(this=mix, expression=literal(fold.folds)))
    return compared(this=number, expression=literal(fold.number))


def is_added_up(tally: Tally) -> bool:
    """Whether values of the rows before are needed, and not only their number."""
    if isinstance(tally, RowTally):
        return tally.condition != Known(True)
    return isinstance(tally, TotalTally)


def with_table(catalog: Catalog, name: str, table: tuple[str, ...]) -> Catalog:
    """The catalogue, where a dataset is one of the tables of its ordered copy."""
    dataset = catalog.dataset(name)
    placed = Schema((*dataset.schema.columns, Column(PLACE, Kind.INTEGER)))
    part = replace(
        dataset, location=replace(dataset.location, table=table), schema=placed, copy=None
    )
    others = [each for each in catalog.datasets if each.name != name]
    return replace(catalog, datasets=(part, *others))
