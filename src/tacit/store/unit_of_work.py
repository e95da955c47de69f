"""One unit of work in the store: statements that happen together, or not at all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from threading import Lock
from typing import Any, Protocol

from sqlalchemy import Dialect
from sqlalchemy.sql.expression import ClauseElement

from tacit.errors import Conflict, ConnectionLost, InternalError, StoreFailed, TacitError
from tacit.numeric.entropy import forks

Row = tuple[Any, ...]
"""What a statement returns, in the order of its columns."""

Values = Mapping[str, object]
"""What a statement is given, by name."""


class DriverCursor(Protocol):
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

    def __init__(self, cursor: DriverCursor, prints: Prints) -> None:
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


# ------------------------------------------------------------------ turns
# Writers of one process take turns before they stand in the database's own queue.

LONGEST_WAIT = 60
"""Seconds that a writer waits for those before it."""


class WriterLock:
    """One writer at a time; see decision 45.

    A charge waits in any case for the one before it, and PostgreSQL is slower the more stand
    before the same row.

    Example:
        >>> turns = WriterLock()
        >>> turn = turns.take()
        >>> turn.locked()
        True
        >>> turn.release()
    """

    def __init__(self) -> None:
        self._home = forks.count
        self._lock = Lock()

    def take(self) -> Lock:
        """This writer's turn, which it releases."""
        if self._home != forks.count:  # those before it were writers of the parent
            self._lock, self._home = Lock(), forks.count
        turn = self._lock
        if not turn.acquire(timeout=LONGEST_WAIT):
            raise StoreFailed("The store is busy; nothing was written. Ask again.")
        return turn


# ------------------------------------------------------------------ failure
# What a database's error means for the one who asked; its own words go no further.
#
# An error of a driver may hold what was being written, so its text is for the operator, who
# finds it as the cause of ours.

UNIQUE = {1555, 2067, "23505"}
"""SQLite's codes of a key that is there already, and PostgreSQL's."""

AGAIN = {"40001", "40P01"}
"""PostgreSQL's codes of a transaction that lost to another."""

REFUSED = {"23502", "23514", "P0001"}
"""PostgreSQL's codes of a check or a trigger that said no: the second lock held."""

BUSY = {5, 6, "55P03", "57014"}
"""Somebody else wrote for longer than we wait."""

CONSTRAINT = 19
"""SQLite's code of a rule that would be broken, whichever."""

GONE = ("08", "57P")
"""How PostgreSQL's codes begin when it shuts down or cannot be spoken to."""

FATAL = {8, 10, 11, 13, 14, 26}
"""SQLite's codes of a disk that fails, fills up, or holds no database (any more)."""


def failure_of(error: Exception, *, lost: bool) -> TacitError:
    """Our error for the driver's ``error``; ``lost`` where the connection went with it.

    A disk that failed in the middle of a commit tells as little as a lost connection: SQLite
    finds a commit again whose sync failed, or does not.
    """
    code = _code(error)
    if code in UNIQUE or code in AGAIN:
        return Conflict("Another writer was first; nothing was written.")
    if lost or is_fatal(error) or str(code).startswith(GONE):
        return ConnectionLost(
            "The store's database went away; ask again with the same key to learn what it did."
        )
    if code in BUSY or _primary(error) in BUSY:
        return StoreFailed("The store is busy; nothing was written. Ask again.")
    if code in REFUSED or _primary(error) == CONSTRAINT:
        return InternalError("The store refused to break one of its rules.")
    return StoreFailed("The store could not be written; nothing may leave on its strength.")


def is_fatal(error: Exception) -> bool:
    """Whether the disk failed: a failed fsync must not be tried again, since it may then lie.

    Reference: the PostgreSQL developers' "fsyncgate" of 2018.
    """
    return _primary(error) in FATAL


def _primary(error: Exception) -> int:
    """SQLite's code without its finer part; 0 for other databases."""
    code: int = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code


def _code(error: Exception) -> int | str:
    code: int | str = (
        getattr(error, "sqlite_errorcode", None) or getattr(error, "sqlstate", None) or ""
    )
    return code
