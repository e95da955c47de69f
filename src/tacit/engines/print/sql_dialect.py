"""The SQL dialect of one engine: the port through which every statement is printed.

A bounded plan has one syntax tree for all engines. A `Dialect` knows where its engine differs:
how text is compared, how wide sums are, how a table is made. No other module asks which engine
a statement is for. The methods of the base class follow the SQL standard; a subclass overrides
the methods for which its engine differs.

To add a dialect, subclass `Dialect` (or the dialect of a similar engine), set ``name`` to
sqlglot's name of the dialect, and test it with
`tacit.testing.dialect_contract.DialectContract`.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from sqlglot import exp

from tacit.core import Column, Kind
from tacit.engines.storage_rules import Types
from tacit.errors import InvalidValue

Rewrite = Callable[[exp.Expr], None]
"""Changes a statement in place, before it is printed."""

PlainTypes = Mapping[Kind, re.Pattern[str]]
"""Patterns of type names by kind, as an engine's own catalogue reports them."""


class Dialect(ABC):
    """The SQL dialect of one engine.

    A dialect has no state: two objects of one class are equal, and they are a part of the key
    under which statements are cached.
    """

    rewrites: tuple[Rewrite, ...] = ()
    """Changes to a statement whose meaning sqlglot would not preserve."""

    quotes_all: bool = False
    """Whether every name is quoted, because the engine changes the case of other names."""

    wide_integer: str | None = None
    """An integer type that holds any number of steps times any number of rows. If it is None,
    the sum of a column plus a constant is not split into two sums."""

    sums_by_limbs: bool = False
    """Whether wide sums are computed from parts of 21 bits, because wide types are slow."""

    streams_copies: bool = True
    """Whether an ordered copy is read in its stored order, which the statement checks."""

    orders_copies: bool = True
    """Whether the rows of a copy are sorted by the statement that makes it."""

    plain_types: ClassVar[PlainTypes] = {}
    """Types whose values are copied without a cast; empty if copies are not supported."""

    stored_types: ClassVar[Types] = {}
    """Types that are converted by `read_value` when they are copied, by their form."""

    timestamp: str = "TIMESTAMPNTZ"
    """The type of a timestamp without a time zone."""

    text_length: str = "OCTET_LENGTH"
    """The function that returns the length of a text in bytes."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of this dialect in sqlglot."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def render(self, tree: exp.Expr) -> str:
        """Return the text of a statement; the tree must not be used again."""
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
        """Return a stored value with the meaning of its kind, whatever was stored.

        Text that is not UTF-8 is NULL, and text is compared by its bytes. A decimal that is not
        a number is NULL. If a dialect cannot do this, its engine must refuse such columns.
        """
        del kind
        return value

    def utc_time(self, instant: exp.Expr) -> exp.Expr:
        """Return an instant (a timestamp with a time zone) as a timestamp in UTC.

        The result must not depend on the time zone of a session, and must not fail; an
        infinite time may be NULL.
        """
        zone = exp.Literal.string("UTC")
        return exp.Paren(this=exp.AtTimeZone(this=instant, zone=zone))

    def hex_to_integer(self, digits: exp.Expr) -> exp.Expr:
        """Return the integer that eight hexadecimal digits represent, as SQL."""
        text = exp.DPipe(this=exp.Literal.string("0x"), expression=digits, safe=True)
        return exp.Cast(this=exp.Paren(this=text), to=exp.DataType.build("BIGINT"))

    def is_one_of(self, value: exp.Expr, keys: Sequence[exp.Expr], *, text: bool) -> exp.Expr:
        """Return the condition that a value is one of the public ``keys``, texts or numbers."""
        del text
        return exp.In(this=value, expressions=list(keys))

    def unit_mark(self, unit: exp.Expr) -> exp.Expr:
        """Return the mark of a unit in the rows of a fit, which has a fixed size.

        Two units must have different marks. The name itself may be the mark only if the engine
        compares names before rows leave it.
        """
        return unit

    # making copies

    def is_plain(self, kind: Kind, physical: str) -> bool:
        """Return whether a column of the type ``physical`` can be copied without a cast."""
        return kind in self.plain_types and bool(self.plain_types[kind].fullmatch(physical))

    def copied_value(self, value: exp.Expr, column: Column, physical: str) -> exp.Expr:
        """Return a value of a plain type, as it is stored in the copy of ``column``."""
        del column, physical
        return value

    def cast_or_null(
        self, value: exp.Expr, column: Column, physical: str, target: str
    ) -> exp.Expr:
        """Return a value cast to ``target``, or NULL if that is impossible; never fail."""
        del physical, column
        return exp.TryCast(this=value, to=exp.DataType.build(target))

    def finite(self, value: exp.Expr) -> exp.Expr:
        """Return a decimal, or NULL if it is not a number."""
        return value

    def valid_text(self, value: exp.Expr) -> exp.Expr:
        """Return a text, or NULL if its bytes are not UTF-8."""
        return value

    def describe_columns(self, table: exp.Expr) -> str:
        """Return the statement that lists the names and types of a table's columns."""
        return f"DESCRIBE {self.render(exp.select('*').from_(table).limit(0))}"

    def create_table(self, table: exp.Expr, rows: exp.Expr) -> str:
        """Return the statement that makes a table from the result of a query."""
        return self.render(exp.Create(this=table, kind="TABLE", expression=rows))

    def create_copy(
        self, table: exp.Expr, rows: exp.Expr, unit: exp.Expr | None, order: Sequence[exp.Expr]
    ) -> tuple[str, ...]:
        """Return the statements that make a copy.

        Rows with the same value of the column ``unit`` must be stored together, in the given
        ``order``. ``unit`` is None for a public table, whose rows have no order.
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
        """Return the name of the table in a row of the result of `list_tables`."""
        return str(row[0])


def refuse_cast(value: exp.Expr, column: Column, physical: str, database: str) -> InvalidValue:
    """Return the error for a column that cannot be copied, because its cast might fail."""
    return InvalidValue(
        f"The type of {value.name} is {physical} in the table and {column.kind.value} in the "
        f"dataset, and {database} has no cast between them that cannot fail. Declare the "
        "column by its own type, or leave it out of the dataset."
    )
