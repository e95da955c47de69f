"""Which form a statement has: a choice that public facts alone make, among equal meanings."""

from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from tacit.core import Catalog, Kind, ValidatedCopy
from tacit.engines.print.expressions import is_text, steps
from tacit.engines.print.sql_builder import alias, choose, column, is_null, literal, select_from
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.sums_and_hashes import hash_columns
from tacit.plan import (
    ROOM,
    AllOf,
    BoundedPlan,
    HeldSteps,
    Steps,
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
"""Rows of a unit up to which each is looked at beside those before it; beyond, grouping is
faster."""


def row_by_row(plan: BoundedPlan, catalog: Catalog) -> bool:
    """Whether each row tells by itself, and by the few before it, what it adds to its group.

    Otherwise the rows of each unit are grouped first.
    """
    if rows_are_independent(plan, catalog):
        return True
    most = plan.max_rows_in_all
    if most is None or most > MOST_IN_VIEW or limits_groups(plan):
        return False
    greatest = [
        max(-tally.low, tally.high) // plan.max_rows
        for tally in plan.tallies
        if isinstance(tally, TotalTally)
    ]
    return all((most + 1) * (value + 1) < ROOM for value in greatest)


def rows_are_independent(plan: BoundedPlan, catalog: Catalog) -> bool:
    """Whether no other row of its unit is looked at: each row is within all limits."""
    return one_row(plan.source, catalog) or plan.max_rows_in_all == 1


def limits_groups(plan: BoundedPlan) -> bool:
    """Whether a unit can be in more groups than it keeps."""
    groups, most = group_count(plan), plan.max_rows_in_all
    if most is not None and most <= plan.max_groups:
        return False
    return groups is None or groups > plan.max_groups


def copy_to_read(plan: BoundedPlan, catalog: Catalog) -> ValidatedCopy | None:
    """The ordered copy that a question reads in its order.

    It is asked about one table, whose units' rows are limited. Other questions read a copy as
    they read a table, whether it is ordered or not.
    """
    source = plan.source
    if source.gathered or source.beside or plan.max_rows_in_all is None:
        return None
    if plan.first_periods is not None:
        return None  # rows are left out between those that lie side by side
    if one_row(source, catalog):
        return None  # nothing is bounded, and rows are read without their places
    copy = catalog.dataset(source.dataset).copy
    return copy if copy is not None and copy.ordered else None


# ------------------------------------------------------------------ kept rows
# The rows of which each unit keeps a few in all, with those before each of them beside it.

UNIT, PLACE, BROKEN = "tacit_unit", "tacit_place", "tacit_broken"
NUMBER = "tacit_number"
VIEWED, KEPT = "tacit_viewed", "tacit_kept"


@dataclass(frozen=True, slots=True)
class RowOrder:
    """The order of a unit's rows: by these expressions, or as they lie, where none are.

    The column ``number`` tells which of its unit's rows each is, where one does.
    """

    by: tuple[exp.Expr, ...]
    number: str | None = NUMBER

    @property
    def streamed(self) -> bool:
        """Whether rows are taken as they lie, in an order that has to be asserted."""
        return not self.by

    def over(self, function: exp.Expr) -> exp.Expr:
        """A function of the rows around each."""
        if self.streamed:
            return exp.Window(this=function)
        # a place is never NULL: the order of a sorted table holds those first
        ordered = [
            exp.Ordered(this=part, nulls_first=part == column(PLACE)) for part in self.by
        ]
        order = exp.Order(expressions=ordered)
        return exp.Window(this=function, partition_by=[column(UNIT)], order=order)


def kept_rows(
    below: str, beside: list[str], most: int, order: RowOrder, level: str
) -> dict[str, exp.Query]:
    """The relations above ``below`` of which the last holds at most ``most`` rows of each unit.

    Beside each row stand the columns ``beside`` of the rows before it, as many as a unit has at
    most, under the names of `before`. Where rows are taken as they lie, a column
    tells whether one of them is not in its place: it is kept then, so that it is seen. Where
    a place is the number of a unit's row, and none beyond ``most`` is below, that bounds them.
    """
    viewed = select_from(below)
    for name in beside:
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
    """What a column of the row so many before is called."""
    return f"{name}_{back}" if back else name


def _lag(value: exp.Expr, back: int) -> exp.Expr:
    return exp.func("LAG", value, literal(back))


def _follows_in_unit(order: RowOrder) -> exp.Expr:
    """Whether a row follows one of its own unit, by its place there."""
    same = exp.EQ(this=column("tacit_last"), expression=column(UNIT))
    last = column("tacit_last_place")
    if order.number is None:
        return exp.and_(same, exp.LT(this=last, expression=column(PLACE)))
    next_place = exp.Add(this=last, expression=literal(1))
    return exp.and_(same, exp.EQ(this=column(PLACE), expression=next_place))


def _out_of_order_flag(order: RowOrder) -> exp.Expr:
    """1 where a row does not follow the one before it: in its unit, or after a lesser one."""
    last = column("tacit_last")
    starts = exp.or_(exp.LT(this=last, expression=column(UNIT)), is_null(last))
    if order.number is not None:
        starts = exp.and_(exp.EQ(this=column(PLACE), expression=literal(1)), starts)
    # what compares with nothing is in no order
    return choose(
        [(each, literal(0)) for each in (starts, _follows_in_unit(order))], literal(1)
    )


# ------------------------------------------------------------------ rows
# How the rows of a question are found: what tells them apart, and in which order.

RowParts = list[tuple[str, bool]]
"""Columns by name, and whether they hold text."""


@dataclass(frozen=True)
class RowContext:
    """What the rows of a question are found by: a plan, what it reads, and how it is said."""

    plan: BoundedPlan
    catalog: Catalog
    salt: bytes
    dialect: Dialect
    use_copy: bool = True

    @property
    def streamed(self) -> bool:
        """Whether rows are taken as they lie in a copy, in an order that has to be asserted."""
        return self.copied and self.dialect.streams_copies

    @property
    def copied(self) -> bool:
        """Whether a copy is read."""
        return self.use_copy and copy_to_read(self.plan, self.catalog) is not None

    @property
    def number(self) -> str | None:
        """The column that tells which of its unit's rows in view a row is.

        There is none where rows are taken as they lie and some between them do not count.
        """
        if not self.streamed:
            return NUMBER
        return PLACE if self.all_count else None

    @property
    def all_count(self) -> bool:
        """Whether no row of the table is left out by a condition."""
        return self.plan.condition == AllOf(()) and self.plan.fold is None

    @property
    def key_names(self) -> list[str]:
        """The columns that name a row's group."""
        return [f"k{place}" for place in range(len(self.plan.keys))]

    @property
    def key_parts(self) -> RowParts:
        """The unit and the keys, as they are mixed."""
        texts = [is_text(key) for key in self.plan.keys]
        return [self.unit_part, *zip(self.key_names, texts, strict=True)]

    @property
    def row_parts(self) -> RowParts:
        """What tells a unit's rows apart: their keys, and else all that is read of them."""
        found = row_keys(self.plan.source, self.catalog)
        if found:
            keys = [(f"r{place}", kind is Kind.TEXT) for place, (_, kind) in enumerate(found)]
            return [self.unit_part, *keys]
        return [*self.key_parts, *((name, False) for name in self.value_names)]

    @property
    def value_names(self) -> list[str]:
        """The columns that hold what tallies need of a row."""
        return list(self.values.values())

    @cached_property
    def values(self) -> dict[Steps, str]:
        """What a row carries along, and the columns that hold it; a fit has thousands."""
        return {
            number: f"v{place}" for place, number in enumerate(row_values(self.plan.tallies))
        }

    def value(self, tally: Tally, back: int = 0) -> exp.Expr:
        """What a tally needs of a row, or of one so many ``back``, made of those columns."""
        return steps(self.number_of(tally, back))

    def number_of(self, tally: Tally, back: int = 0) -> Steps:
        """The same, before it is printed."""
        held = {
            number: HeldSteps(lagged_name(name, back))
            for number, name in self.carried_columns(tally).items()
        }
        return made_from(value_of(tally), held)

    def carried_columns(self, tally: Tally) -> dict[Steps, str]:
        """What a tally's value is made of, and the columns that hold it."""
        number = value_of(tally)
        parts = columns_of(number, self.values)
        return {part: self.values[part] for part in parts}

    @property
    def row_order(self) -> tuple[exp.Expr, ...]:
        """The order in which a unit's rows are kept: equal ones have nothing to tell apart."""
        if self.copied:
            return (column(PLACE),)
        values = [(name, False) for name in self.value_names]
        return self._order(self.row_parts, [*self.row_parts, *self.key_parts, *values])

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
        """The unit, as it is mixed."""
        dataset, _, name = self.plan.source.unit.partition(".")
        return UNIT, self.catalog.table(dataset).schema[name].kind is Kind.TEXT
