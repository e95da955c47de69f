"""How the rows of a question are found: what tells them apart, and in which order."""

from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from tacit.core.catalog import Catalog
from tacit.core.column import Kind
from tacit.engines.print.form import copy_to_read
from tacit.engines.print.kept_rows import NUMBER, PLACE, UNIT, before
from tacit.engines.print.key import is_text
from tacit.engines.print.mix import mixed
from tacit.engines.print.row import steps
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.word import column
from tacit.plan.bounded import BoundedPlan
from tacit.plan.row_key import row_keys
from tacit.plan.row_value import columns_of, made_from, row_values, value_of
from tacit.plan.steps import AllOf, HeldSteps, Steps
from tacit.plan.tally import Tally

RowParts = list[tuple[str, bool]]
"""Columns by name, and whether they hold text."""


@dataclass(frozen=True)
class Rows:
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
            number: HeldSteps(before(name, back))
            for number, name in self.carried(tally).items()
        }
        return made_from(value_of(tally), held)

    def carried(self, tally: Tally) -> dict[Steps, str]:
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
        return (mixed(self.salt, parts, self.dialect), *(column(name) for name, _ in rest))

    @property
    def unit_part(self) -> tuple[str, bool]:
        """The unit, as it is mixed."""
        dataset, _, name = self.plan.source.unit.partition(".")
        return UNIT, self.catalog.table(dataset).schema[name].kind is Kind.TEXT
