"""The form of a statement, the limit on rows of a unit, and the order in which rows are kept.

A question can be answered by statements of several forms, which have the same meaning. Public
facts alone decide which form is used.
"""

from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from tacit.core import Catalog, Kind, ValidatedCopy
from tacit.engines.print.expressions import is_text, is_text_value, steps
from tacit.engines.print.sql_builder import alias, choose, column, is_null, literal, select_from
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.sums_and_hashes import hash_columns
from tacit.plan import (
    ROOM,
    AllOf,
    BoundedPlan,
    ComputedSteps,
    RowValue,
    Steps,
    StoredValue,
    Tally,
    TotalTally,
    columns_of,
    group_count,
    made_from,
    one_row,
    row_keys,
    row_values,
    value_of,
)

MOST_IN_VIEW = 4
"""The largest limit on rows of a unit for which rows are compared with their preceding rows;
for larger limits, GROUP BY unit is faster."""


def row_by_row(plan: BoundedPlan, catalog: Catalog) -> bool:
    """Return whether contributions are bounded row by row instead of by GROUP BY unit.

    Row by row, the contribution of a row is computed with a window over the few preceding rows
    of its unit.
    """
    if rows_are_independent(plan, catalog):
        return True
    most = plan.max_rows_in_all
    if most is None or most > MOST_IN_VIEW or limits_groups(plan):
        return False
    if plan.max_squares is not None:
        return False
    greatest = [
        max(-tally.low, tally.high) // plan.max_rows if tally.each is None else tally.each
        for tally in plan.tallies
        if isinstance(tally, TotalTally)
    ]
    return all((most + 1) * (value + 1) < ROOM for value in greatest)


def rows_are_independent(plan: BoundedPlan, catalog: Catalog) -> bool:
    """Return whether every row is within all limits, whatever other rows its unit has."""
    return one_row(plan.source, catalog) or plan.max_rows_in_all == 1


def limits_groups(plan: BoundedPlan) -> bool:
    """Return whether a unit can be in more groups than its limit."""
    groups, most = group_count(plan), plan.max_rows_in_all
    if most is not None and most <= plan.max_groups:
        return False
    return groups is None or groups > plan.max_groups


def copy_to_read(plan: BoundedPlan, catalog: Catalog) -> ValidatedCopy | None:
    """Return the ordered copy whose order a question uses, or None.

    Such a question reads one table and limits the rows of a unit. Other questions read a copy
    like any table, whether it is ordered or not.
    """
    source = plan.source
    if source.gathered or source.beside or source.semis or plan.max_rows_in_all is None:
        return None
    if plan.first_periods is not None:
        return None  # some rows between adjacent ones are left out
    if one_row(source, catalog):
        return None  # there is nothing to bound, and the places of rows are not needed
    copy = catalog.dataset(source.dataset).copy
    return copy if copy is not None and copy.ordered else None


# ------------------------------------------------------------------ kept rows
# The limit on the rows of a unit. Each kept row also gets columns of its preceding rows (LAG).
#
# Rows are numbered by ROW_NUMBER in the order of their hash. A copy that is stored in this
# order is read without sorting: the window functions have no ORDER BY, and a column `BROKEN` is
# 1 in each row that does not follow its predecessor. If any row is out of order, the result is
# discarded, and the question is asked again in the form with sorting.

UNIT, PLACE, BROKEN = "tacit_unit", "tacit_place", "tacit_broken"
NUMBER = "tacit_number"
VIEWED, KEPT = "tacit_viewed", "tacit_kept"


@dataclass(frozen=True, slots=True)
class RowOrder:
    """The order of a unit's rows: by expressions, or the stored order if there are none.

    ``number`` is the column with the number of a row among its unit's rows, or None.
    """

    by: tuple[exp.Expr, ...]
    number: str | None = NUMBER

    @property
    def streamed(self) -> bool:
        """Whether rows are read in the stored order, which the statement must check."""
        return not self.by

    def over(self, function: exp.Expr) -> exp.Expr:
        """Return a window function over the rows of a unit, in this order."""
        if self.streamed:
            return exp.Window(this=function)
        # a place is never NULL; NULLS FIRST matches the order of Spark's sorted tables
        ordered = [
            exp.Ordered(this=part, nulls_first=part == column(PLACE)) for part in self.by
        ]
        order = exp.Order(expressions=ordered)
        return exp.Window(this=function, partition_by=[column(UNIT)], order=order)


def kept_rows(
    below: str, carried: list[str], most: int, order: RowOrder, level: str
) -> dict[str, exp.Query]:
    """Return relations above ``below``; the last one has at most ``most`` rows per unit.

    Each row gets the columns ``carried`` of its ``most`` - 1 preceding rows, under the names of
    `lagged_name`. In the stored order, the column `BROKEN` is 1 for a row that is out of order,
    and such a row is always kept so that it is noticed. If the place is the number of a row,
    ``below`` must contain no row whose place is above ``most``; that limits the rows.
    """
    viewed = select_from(below)
    for name in carried:
        for back in range(1, most):
            lagged = order.over(_lag(column(name), back))
            viewed = viewed.select(alias(lagged, lagged_name(name, back)), copy=False)
    if order.streamed:
        viewed = viewed.select(
            alias(order.over(_lag(column(UNIT), 1)), "tacit_last"),
            alias(order.over(_lag(column(PLACE), 1)), "tacit_last_place"),
            copy=False,
        )
        if order.number is None:
            far = order.over(_lag(column(UNIT), most))
            viewed = viewed.select(alias(far, "tacit_far"), copy=False)
    else:
        viewed = viewed.select(alias(order.over(exp.RowNumber()), NUMBER), copy=False)
    kept = select_from(f"{VIEWED}{level}")
    if order.streamed:
        kept = kept.select(alias(_out_of_order_flag(order), BROKEN), copy=False)
        if order.number is None:
            far = exp.EQ(this=column("tacit_far"), expression=column(UNIT))
            beyond = exp.func("COALESCE", exp.and_(far, _follows_in_unit(order)), exp.false())
            kept = kept.where(exp.not_(beyond), copy=False)
    else:
        kept = kept.where(exp.LTE(this=column(NUMBER), expression=literal(most)), copy=False)
    return {f"{VIEWED}{level}": viewed, f"{KEPT}{level}": kept}


def lagged_name(name: str, back: int) -> str:
    """Return the name of the column with the value of ``name``, ``back`` rows before."""
    return f"{name}_{back}" if back else name


def _lag(value: exp.Expr, back: int) -> exp.Expr:
    return exp.func("LAG", value, literal(back))


def _follows_in_unit(order: RowOrder) -> exp.Expr:
    """Return the condition that a row follows a row of its own unit, by its row number."""
    same = exp.EQ(this=column("tacit_last"), expression=column(UNIT))
    last = column("tacit_last_place")
    if order.number is None:
        return exp.and_(same, exp.LT(this=last, expression=column(PLACE)))
    next_place = exp.Add(this=last, expression=literal(1))
    return exp.and_(same, exp.EQ(this=column(PLACE), expression=next_place))


def _out_of_order_flag(order: RowOrder) -> exp.Expr:
    """Return 1 if a row is out of order, otherwise 0.

    A row is in order if it follows a row of its unit, or if it is the first row of a unit and
    the preceding unit is smaller.
    """
    last = column("tacit_last")
    starts = exp.or_(exp.LT(this=last, expression=column(UNIT)), is_null(last))
    if order.number is not None:
        starts = exp.and_(exp.EQ(this=column(PLACE), expression=literal(1)), starts)
    # a row for which no comparison is true, such as NULL, is out of order
    return choose(
        [(each, literal(0)) for each in (starts, _follows_in_unit(order))], literal(1)
    )


# ------------------------------------------------------------------ rows
# The names of the columns that a statement computes for each row, and the order of rows.

RowParts = list[tuple[str, bool]]
"""Columns by name, and whether they contain text."""


@dataclass(frozen=True)
class RowContext:
    """The context of a statement: a plan, the tables that it reads, and the dialect."""

    plan: BoundedPlan
    catalog: Catalog
    salt: bytes
    dialect: Dialect
    use_copy: bool = True

    @property
    def streamed(self) -> bool:
        """Whether a copy is read in its stored order, which the statement must check."""
        return self.copied and self.dialect.streams_copies

    @property
    def copied(self) -> bool:
        """Whether an ordered copy is read."""
        return self.use_copy and copy_to_read(self.plan, self.catalog) is not None

    @property
    def number(self) -> str | None:
        """The column with the number of a row among its unit's rows that count.

        It is None if rows are read in the stored order and a condition removes some of them.
        """
        if not self.streamed:
            return NUMBER
        return PLACE if self.all_count else None

    @property
    def all_count(self) -> bool:
        """Whether no condition or fold removes rows of the table."""
        return self.plan.condition == AllOf(()) and self.plan.fold is None

    @property
    def key_names(self) -> list[str]:
        """The columns with the keys of a row's group."""
        return [f"k{place}" for place in range(len(self.plan.keys))]

    @property
    def key_parts(self) -> RowParts:
        """The unit and the group keys, as parts of the row-order hash."""
        texts = [is_text(key) for key in self.plan.keys]
        return [self.unit_part, *zip(self.key_names, texts, strict=True)]

    @property
    def row_parts(self) -> RowParts:
        """The parts of the row-order hash: the unit and row keys, or all values of a row."""
        found = row_keys(self.plan.source, self.catalog)
        if found:
            keys = [(f"r{place}", kind is Kind.TEXT) for place, (_, kind) in enumerate(found)]
            return [self.unit_part, *keys]
        return [*self.key_parts, *self.value_parts]

    @property
    def value_names(self) -> list[str]:
        """The columns with the values of a row that tallies need."""
        return list(self.values.values())

    @property
    def value_parts(self) -> RowParts:
        """The values of a row, as parts of the row-order hash."""
        return [(name, is_text_value(value)) for value, name in self.values.items()]

    @cached_property
    def values(self) -> dict[RowValue, str]:
        """The expressions that tallies need for each row, and their columns; often many."""
        return {
            number: f"v{place}" for place, number in enumerate(row_values(self.plan.tallies))
        }

    def value(self, tally: Tally, back: int = 0) -> exp.Expr:
        """Return the value of a tally for a row as SQL, or for the row ``back`` before."""
        return steps(self.number_of(tally, back))

    def number_of(self, tally: Tally, back: int = 0) -> Steps:
        """Return the value of a tally for a row, in grid steps of the carried columns."""
        held = {
            number: ComputedSteps(lagged_name(name, back))
            for number, name in self.carried_columns(tally).items()
        }
        return made_from(value_of(tally), held)

    def carried_columns(self, tally: Tally) -> dict[RowValue, str]:
        """Return the parts of a tally's value, and the columns that contain them."""
        number = value_of(tally)
        if isinstance(number, StoredValue):
            return {number: self.values[number]}
        return {part: self.values[part] for part in columns_of(number, self.values)}

    @property
    def row_order(self) -> tuple[exp.Expr, ...]:
        """The order in which a unit's rows are kept; equal rows are interchangeable."""
        if self.copied:
            return (column(PLACE),)
        parts = [*self.row_parts, *self.key_parts, *self.value_parts]
        return self._order(self.row_parts, parts)

    @property
    def group_order(self) -> tuple[exp.Expr, ...]:
        """The order in which a unit's groups are kept."""
        return self._order(self.key_parts, self.key_parts)

    def _order(self, parts: RowParts, then: RowParts) -> tuple[exp.Expr, ...]:
        rest = [part for part in dict.fromkeys(then) if part != self.unit_part]
        return (
            hash_columns(self.salt, parts, self.dialect),
            *(column(name) for name, _ in rest),
        )

    @property
    def unit_part(self) -> tuple[str, bool]:
        """The unit, as a part of the row-order hash."""
        dataset, _, name = self.plan.source.unit.partition(".")
        return UNIT, self.catalog.table(dataset).schema[name].kind is Kind.TEXT
