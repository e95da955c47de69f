"""One unit of work in the store: statements that happen together, or not at all."""

from collections.abc import Callable, Mapping, Sequence
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

    def close(self) -> object:
        """Let go of the connection."""
        ...


@dataclass(frozen=True, slots=True)
class Printed:
    """A statement as the text of one dialect, and its values as the driver wants them."""

    text: str
    arguments: Callable[[Values], Any]

    @classmethod
    def of(cls, statement: ClauseElement, dialect: Dialect) -> "Printed":
        """``statement`` in the words of ``dialect``."""
        compiled = statement.compile(dialect=dialect)
        constants = {
            name: value for name, value in compiled.params.items() if value is not None
        }
        ordered = _ordered(getattr(compiled, "positiontup", None) or ())
        if constants:
            return cls(str(compiled), lambda values: ordered({**constants, **values}))
        return cls(str(compiled), ordered)


def _ordered(names: Sequence[str]) -> Callable[[Values], Any]:
    match names:
        case ():  # values go by name
            return lambda values: values
        case (only,):
            return lambda values: (values[only],)
    return itemgetter(*names)


class Prints(dict[ClauseElement, Printed]):
    """Statements as the text of one dialect, each printed when it is first used."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__()
        self._dialect = dialect

    def __missing__(self, statement: ClauseElement) -> Printed:
        printed = self[statement] = Printed.of(statement, self._dialect)
        return printed


class Work:
    """Runs statements on the driver itself, printed once by SQLAlchemy.

    Going through SQLAlchemy for each statement costs several times the transaction
    (decision 21), and a charge is made of ten of them.
    """

    __slots__ = ("_cursor", "_prints")

    def __init__(self, cursor: Cursor, prints: Prints) -> None:
        self._cursor = cursor
        self._prints = prints

    def run(self, statement: ClauseElement, values: Values) -> int:
        """Run a statement; how many rows it wrote."""
        printed = self._prints[statement]
        self._cursor.execute(printed.text, printed.arguments(values))
        return self._cursor.rowcount

    def one(self, statement: ClauseElement, values: Values) -> Row | None:
        """The first row of a statement, or None."""
        printed = self._prints[statement]
        self._cursor.execute(printed.text, printed.arguments(values))
        row: Row | None = self._cursor.fetchone()
        return row

    def all(self, statement: ClauseElement, values: Values) -> list[Row]:
        """All rows of a statement."""
        printed = self._prints[statement]
        self._cursor.execute(printed.text, printed.arguments(values))
        rows: list[Row] = self._cursor.fetchall()
        return rows
