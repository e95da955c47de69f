"""The rows of a question with their unit, keys and values, and at most so many of each unit."""

from dataclasses import dataclass, replace

from sqlglot import exp

from tacit.core.catalog import Catalog
from tacit.core.column import Column, Kind
from tacit.core.schema import Schema
from tacit.engines.print.form import copy_to_read, is_streamed, row_by_row
from tacit.engines.print.gather import Relations, rows
from tacit.engines.print.kept_rows import KEPT, PLACE, UNIT, RowOrder, kept_rows
from tacit.engines.print.key import is_public, is_text, named
from tacit.engines.print.mix import mixed
from tacit.engines.print.row import condition, steps
from tacit.engines.print.stage import stages
from tacit.engines.print.word import bytewise, choose, column, is_null, literal
from tacit.plan.bounded import BoundedPlan, ColumnKey
from tacit.plan.row_key import row_keys
from tacit.plan.source import one_row
from tacit.plan.steps import Known
from tacit.plan.tally import KeptTally, RowTally, Tally, TotalTally, TreeTally, UnitTally

ROWS = "tacit_rows"
RowParts = list[tuple[str, bool]]
"""Columns by name, and whether they hold text."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What the rows of a question are found by: a plan, what it reads, and how it is said."""

    plan: BoundedPlan
    catalog: Catalog
    salt: bytes
    dialect: str
    use_copy: bool = True

    @property
    def streamed(self) -> bool:
        """Whether rows are taken as they lie in a copy, in an order that has to be asserted."""
        return self._copied and is_streamed(self.dialect)

    @property
    def key_names(self) -> list[str]:
        """The columns that name a row's group."""
        return [f"k{place}" for place in range(len(self.plan.keys))]

    @property
    def key_parts(self) -> RowParts:
        """The unit and the keys, as they are mixed."""
        texts = [is_text(key) for key in self.plan.keys]
        return [self._unit, *zip(self.key_names, texts, strict=True)]

    @property
    def row_parts(self) -> RowParts:
        """What tells a unit's rows apart: their keys, and else all that is read of them."""
        found = row_keys(self.plan.source, self.catalog)
        if found:
            keys = [(f"r{place}", kind is Kind.TEXT) for place, (_, kind) in enumerate(found)]
            return [self._unit, *keys]
        return [*self.key_parts, *((name, False) for name in self.value_names)]

    @property
    def value_names(self) -> list[str]:
        """The columns that hold what tallies need of a row."""
        return [
            f"v{place}"
            for place, tally in enumerate(self.plan.tallies)
            if not isinstance(tally, UnitTally)
        ]

    @property
    def row_order(self) -> tuple[exp.Expr, ...]:
        """The order in which a unit's rows are kept: equal ones have nothing to tell apart."""
        if self._copied:
            return (column(PLACE),)
        values = [(name, False) for name in self.value_names]
        return self._order(self.row_parts, [*self.row_parts, *self.key_parts, *values])

    @property
    def group_order(self) -> tuple[exp.Expr, ...]:
        """The order in which a unit's groups are kept."""
        return self._order(self.key_parts, self.key_parts)

    def _order(self, parts: RowParts, then: RowParts) -> tuple[exp.Expr, ...]:
        rest = [part for part in dict.fromkeys(then) if part != self._unit]
        return (mixed(self.salt, parts, self.dialect), *(column(name) for name, _ in rest))

    @property
    def _copied(self) -> bool:
        return self.use_copy and copy_to_read(self.plan, self.catalog) is not None

    @property
    def _unit(self) -> tuple[str, bool]:
        dataset, _, name = self.plan.source.unit.partition(".")
        return UNIT, self.catalog.table(dataset).schema[name].kind is Kind.TEXT


def bounded_rows(rows_of: Rows) -> Relations:
    """The relations of which the last holds the rows that count, at most so many of a unit."""
    plan, catalog = rows_of.plan, rows_of.catalog
    copy = copy_to_read(plan, catalog) if rows_of.use_copy else None
    if copy is None:
        return _rows(rows_of, "", placed=False)
    made: Relations = {}
    ends = []
    for place, table in enumerate(copy.tables):
        part = replace(rows_of, catalog=with_table(catalog, plan.source.dataset, table))
        made |= _rows(part, f"_{place}", placed=True)
        ends.append(exp.select("*").from_(list(made)[-1]))
    made[KEPT] = ends[0] if len(ends) == 1 else exp.union(*ends, distinct=False)
    return made


def _rows(rows_of: Rows, level: str, *, placed: bool) -> Relations:
    plan, catalog, dialect = rows_of.plan, rows_of.catalog, rows_of.dialect
    made = rows(plan.source, catalog, dialect, level)
    made |= stages((plan.condition, plan.keys, plan.tallies), list(made)[-1], level)
    made[f"{ROWS}{level}"] = _counted(rows_of, list(made)[-1], placed=placed)
    most = plan.max_rows_in_all
    if most is None or one_row(plan.source, catalog):
        return made
    by = (column(PLACE),) if placed else rows_of.row_order
    order = RowOrder(() if placed and is_streamed(dialect) else by)
    values = [f"v{at}" for at, tally in enumerate(plan.tallies) if is_added_up(tally)]
    seen = [UNIT, *rows_of.key_names, *values]
    beside = seen if row_by_row(plan, catalog) else []
    there = [exp.not_(is_null(column(name))) for name in rows_of.key_names]
    counted = exp.select("*").from_(list(made)[-1])
    counted = counted.where(*there) if there else counted
    return made | kept_rows(counted, beside, most, order, level)


def _counted(rows_of: Rows, source: str, *, placed: bool) -> exp.Select:
    """The rows that count, with their unit, their keys and what their tallies need of them."""
    plan = rows_of.plan
    values = [
        exp.alias_(_value(tally), f"v{place}")
        for place, tally in enumerate(plan.tallies)
        if not isinstance(tally, UnitTally)
    ]
    dialect, unit = rows_of.dialect, column(plan.source.unit)
    cells = [(UNIT, unit, rows_of.key_parts[0][1])]
    cells += [(f"k{at}", named(key), is_text(key)) for at, key in enumerate(plan.keys)]
    public = [is_public(key) for key in plan.keys if isinstance(key, ColumnKey) and key.keys]
    if placed:
        place_name = f"{plan.source.dataset}.{PLACE}"
        values.append(exp.alias_(column(place_name), PLACE))
    else:
        found = row_keys(plan.source, rows_of.catalog)
        cells += [
            (f"r{at}", column(name), kind is Kind.TEXT) for at, (name, kind) in enumerate(found)
        ]
    named_cells = [
        exp.alias_(bytewise(cell, dialect, text=text), name) for name, cell, text in cells
    ]
    return (
        exp.select(*named_cells, *values)
        .from_(source)
        .where(exp.not_(is_null(unit)), condition(plan.condition), *public)
    )


def is_added_up(tally: Tally) -> bool:
    """Whether values of the rows before are needed, and not only their number."""
    if isinstance(tally, RowTally):
        return tally.condition != Known(True)
    return isinstance(tally, TotalTally)


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


def with_table(catalog: Catalog, name: str, table: tuple[str, ...]) -> Catalog:
    """The catalogue, where a dataset is one of the tables of its ordered copy."""
    dataset = catalog.dataset(name)
    placed = Schema((*dataset.schema.columns, Column(PLACE, Kind.INTEGER)))
    part = replace(
        dataset, location=replace(dataset.location, table=table), schema=placed, copy=None
    )
    others = [each for each in catalog.datasets if each.name != name]
    return replace(catalog, datasets=(part, *others))
