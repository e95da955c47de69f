"""One unit of work in the store: statements that happen together, or not at all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Protocol

from sqlalchemy import Dialect
from sqlalchemy.sql.expression import ClauseElement

Row = tuple[Any, ...]
"""What a statement returns, in the order of its columns."""

Values = Mapping[str, object]
"""What a statement is given, by name."""


class Cursor(Protocol):
    """The part of a driver's cursor (PEP 249) that is used here."""

    @property
    def rowcount(self) -> int:
        """How many rows the last statement wrote."""
        ...

    def execute(self, operation: str, parameters: Any = ..., /) -> object:
        """Run one statement."""
        ...

    def fetchone(self) -> Any:
        """The next row, or None."""
        ...

    def fetchall(self) -> Any:
        """All rows that are left."""
        ...


@dataclass(frozen=True, slots=True)
class Printed:
    """A statement as the text of one dialect, and where its values go."""

    text: str
    constants: Mapping[str, Any]
    ordered: Callable[[Values], Any]

    @classmethod
    def of(cls, statement: ClauseElement, dialect: Dialect) -> "Printed":
        """``statement`` in the words of ``dialect``."""
        compiled = statement.compile(dialect=dialect)
        constants = {
            name: value for name, value in compiled.params.items() if value is not None
        }
        order = getattr(compiled, "positiontup", None) or ()
        match order:
            case ():  # values go by name
                return cls(str(compiled), constants, lambda values: values)
            case (only,):
                return cls(str(compiled), constants, lambda values: (values[only],))
        return cls(str(compiled), constants, itemgetter(*order))

    def arguments(self, values: Values) -> Any:
        """``values`` as the driver wants them."""
        return self.ordered({**self.constants, **values} if self.constants else values)


class Work:
    """Runs statements on the driver itself, printed once by SQLAlchemy.

    Going through SQLAlchemy for each statement costs several times the transaction
    (decision 21), and a charge is made of eight of them.
    """

    __slots__ = ("_cursor", "_print")

    def __init__(self, cursor: Cursor, printer: Callable[[ClauseElement], Printed]) -> None:
        self._cursor = cursor
        self._print = printer

    def run(self, statement: ClauseElement, values: Values) -> int:
        """Run a statement; how many rows it wrote."""
        self._execute(statement, values)
        return self._cursor.rowcount

    def one(self, statement: ClauseElement, values: Values) -> Row | None:
        """The first row of a statement, or None."""
        self._execute(statement, values)
        row = self._cursor.fetchone()
        return None if row is None else tuple(row)

    def all(self, statement: ClauseElement, values: Values) -> list[Row]:
        """All rows of a statement."""
        self._execute(statement, values)
        return [tuple(row) for row in self._cursor.fetchall()]

    def _execute(self, statement: ClauseElement, values: Values) -> None:
        printed = self._print(statement)
        self._cursor.execute(printed.text, printed.arguments(values))
