"""How one engine writes and reads SQL: the port that every statement is printed through.

A bounded question is one tree for all engines. A `Dialect` knows what its engine calls things
and where its words mean something else: how text is compared, how wide sums are, how a table is
made. No other module asks which engine a statement is for. Each method has the answer of an
engine that keeps to the SQL standard; a subclass writes down where its engine differs.

To add one, subclass `Dialect` (or the dialect of a similar engine), set ``name`` to sqlglot's
name for it, and hold it to `tacit.testing.dialect_contract.DialectContract`.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from sqlglot import exp

from tacit.core import Column, Kind
from tacit.errors import InvalidValue

Rewrite = Callable[[exp.Expr], None]
"""Changes a statement in place, before it is printed."""

PlainTypes = Mapping[Kind, re.Pattern[str]]
"""Names of types by kind, as an engine's own catalogue spells them."""


class Dialect(ABC):
    """The SQL of one engine.

    A dialect has no state: two objects of one class are equal, and printed statements are
    cached by them.
    """

    rewrites: tuple[Rewrite, ...] = ()
    """Changes to a statement where sqlglot's own words would not keep its meaning."""

    quotes_all: bool = False
    """Whether every name is quoted, since a name without quotes would be folded to another."""

    wide_integer: str | None = None
    """The type that holds a number of rows times any number of steps; None where no type is
    known, and sums are not taken apart."""

    sums_by_limbs: bool = False
    """Whether wide sums are taken of parts of 21 bits, since sums of wide types are slow."""

    streams_copies: bool = True
    """Whether an ordered copy is read as it lies, and its order asserted by the statement."""

    orders_copies: bool = True
    """Whether the rows of a copy are sorted by the statement that makes it."""

    plain_types: ClassVar[PlainTypes] = {}
    """Types whose values are copied without a cast; none where no copy can be made."""

    timestamp: str = "TIMESTAMPNTZ"
    """The type of a time without a zone."""

    text_length: str = "OCTET_LENGTH"
    """The function that gives the length of a text in bytes."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that sqlglot has for this dialect."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def render(self, tree: exp.Expr) -> str:
        """Return the text of a statement, whose tree is used up."""
        for rewrite in self.rewrites:
            rewrite(tree)
        text: str = tree.sql(
            dialect=self.name, copy=False, comments=False, identify=self.quotes_all
        )
        return text

    # reading values

    def bytewise(self, value: exp.Expr) -> exp.Expr:
        """Return a text that is ordered by its bytes."""
        return value

    def cell(self, value: exp.Expr, kind: Kind) -> exp.Expr:
        """Return a stored value with the meaning of its kind, whatever its writer stored.

        Text that is not UTF-8 is NULL and text is compared by its bytes; a decimal that is not
        a number is NULL. A dialect that cannot do this must refuse such columns in its engine.
        """
        del kind
        return value

    def hex_to_integer(self, digits: exp.Expr) -> exp.Expr:
        """Return the number that eight hexadecimal digits stand for."""
        text = exp.DPipe(this=exp.Literal.string("0x"), expression=digits, safe=True)
        return exp.Cast(this=exp.Paren(this=text), to=exp.DataType.build("BIGINT"))

    def is_one_of(self, value: exp.Expr, keys: Sequence[exp.Expr], *, text: bool) -> exp.Expr:
        """Return whether a value is one of the public ``keys``: ``text`` or numbers."""
        del text
        return exp.In(this=value, expressions=list(keys))

    def unit_mark(self, unit: exp.Expr) -> exp.Expr:
        """Return what stands for a unit in the rows of a fit, of a fixed size.

        Any two units must have different marks. The name itself is returned only for an engine
        that compares names before rows leave it.
        """
        return unit

    # making copies

    def is_plain(self, kind: Kind, physical: str) -> bool:
        """Return whether a column of the type ``physical`` can be copied without a cast."""
        return kind in self.plain_types and bool(self.plain_types[kind].fullmatch(physical))

    def copied_value(self, value: exp.Expr, column: Column, physical: str) -> exp.Expr:
        """Return a value of a plain type as the copy of ``column`` has it."""
        del column, physical
        return value

    def cast_or_null(
        self, value: exp.Expr, column: Column, physical: str, target: str
    ) -> exp.Expr:
        """Return a value in the type ``target``, and NULL where it has none; it never fails."""
        del physical, column
        return exp.TryCast(this=value, to=exp.DataType.build(target))

    def finite(self, value: exp.Expr) -> exp.Expr:
        """Return a decimal, and NULL where it is not a number."""
        return value

    def valid_text(self, value: exp.Expr) -> exp.Expr:
        """Return a text that is UTF-8, and NULL where its bytes are not."""
        return value

    def describe_columns(self, table: exp.Expr) -> str:
        """Return the statement that finds the names and types of a table's columns."""
        return f"DESCRIBE {self.render(exp.select('*').from_(table).limit(0))}"

    def create_table(self, table: exp.Expr, rows: exp.Expr) -> str:
        """Return the statement that makes a table of what a query finds."""
        return self.render(exp.Create(this=table, kind="TABLE", expression=rows))

    def create_copy(
        self, table: exp.Expr, rows: exp.Expr, unit: exp.Expr | None, order: Sequence[exp.Expr]
    ) -> tuple[str, ...]:
        """Return the statements that make a copy.

        ``unit`` is the column whose rows lie together, in the given ``order``; None for a
        public table, whose rows have no order.
        """
        del unit, order
        return (self.create_table(table, rows),)

    def list_tables(self, where: Sequence[str]) -> str:
        """Return the statement that lists the tables of a schema; see `listed_table`."""
        *database, schema = (self.render(exp.Literal.string(part)) for part in where)
        known = database[0] if database else "current_database()"
        return (
            "SELECT table_name FROM information_schema.tables "  # noqa: S608 - rendered
            f"WHERE table_catalog = {known} AND table_schema = {schema}"
        )

    def listed_table(self, row: Sequence[Any]) -> str:
        """Return the name of the table that a row of `list_tables` is about."""
        return str(row[0])


def refuse_cast(value: exp.Expr, column: Column, physical: str, database: str) -> InvalidValue:
    """Say that a column cannot be copied, since a cast of it might fail."""
    return InvalidValue(
        f"{value.name} is {physical} in the table and {column.kind.value} in the dataset, and "
        f"{database} has no cast between them that cannot fail; declare the column by its own "
        "type, or leave it out of the dataset."
    )
