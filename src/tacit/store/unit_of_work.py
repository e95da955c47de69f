"""A unit of work: statements on the driver, the lock of writers, and the meaning of errors.

Statements are written with SQLAlchemy and compiled to SQL text once for each dialect. They then
run on the driver's cursor directly, because running each statement through SQLAlchemy takes
several times as long as the transaction.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from threading import Lock
from typing import Any, Protocol

from sqlalchemy import Dialect
from sqlalchemy.sql.expression import ClauseElement

from tacit.errors import Conflict, ConnectionLost, InternalError, StoreFailed, TacitError
from tacit.numeric.entropy import forks

Row = tuple[Any, ...]
"""A row that a statement returns, in the order of its columns."""

Values = Mapping[str, object]
"""The parameters of a statement, by name."""

ChainEnds = dict[str, tuple[int, bytes]]
"""The number and the hash of the last entry of each population's chain."""


@dataclass(slots=True)
class SeenChains:
    """The ends and the first entries of the chains that a process has seen in a store."""

    ends: ChainEnds = field(default_factory=dict)
    firsts: dict[str, bytes] = field(default_factory=dict)
    """The hash of each chain's first entry, which differs from that of any other ledger."""


class DriverCursor(Protocol):
    """The part of a driver's cursor (PEP 249) that is used here."""

    @property
    def rowcount(self) -> int:
        """Number of rows that the last statement wrote."""
        ...

    def execute(self, operation: str, parameters: Any = ..., /) -> object:
        """Run one statement."""
        ...

    def executemany(self, operation: str, parameters: Any, /) -> object:
        """Run one statement for each of several sets of parameters."""
        ...

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        ...

    def fetchall(self) -> Any:
        """Return all remaining rows."""
        ...

    def close(self) -> object:
        """Close the cursor."""
        ...


@dataclass(frozen=True, slots=True)
class Printed:
    """A statement compiled to SQL text, and a function that arranges its parameters."""

    text: str
    arguments: Callable[[Values], Any]

    @classmethod
    def of(cls, statement: ClauseElement, dialect: Dialect) -> "Printed":
        """Compile ``statement`` for ``dialect``."""
        compiled = statement.compile(dialect=dialect)
        constants = {
            name: value for name, value in compiled.params.items() if value is not None
        }
        ordered = _arrange(getattr(compiled, "positiontup", None) or ())
        if constants:
            return cls(str(compiled), lambda values: ordered({**constants, **values}))
        return cls(str(compiled), ordered)


def _arrange(names: Sequence[str]) -> Callable[[Values], Any]:
    match names:
        case ():  # the driver takes parameters by name
            return lambda values: values
        case (only,):
            return lambda values: (values[only],)
    return itemgetter(*names)


class Prints(dict[ClauseElement, Printed]):
    """The compiled statements of one dialect. Each is compiled when it is first used."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__()
        self._dialect = dialect

    def __missing__(self, statement: ClauseElement) -> Printed:
        printed = self[statement] = Printed.of(statement, self._dialect)
        return printed


class Work:
    """An open unit of work, in which statements can be run.

    Statements run on the driver's cursor, because a charge has about ten of them, and running
    each through SQLAlchemy costs several times the transaction (ADR 21).

    ``known`` is what this process has seen of the chains, and ``written`` are the ends that
    this unit of work has written. When it commits, the store adds them to what is known, so
    that the next writer notices a database that was put back (`tacit.store.continuity`).
    """

    __slots__ = ("_cursor", "_prints", "known", "written")

    def __init__(self, cursor: DriverCursor, prints: Prints) -> None:
        self._cursor = cursor
        self._prints = prints
        self.known = SeenChains()
        self.written: ChainEnds = {}

    def run(self, statement: ClauseElement, values: Values) -> int:
        """Run a statement, and return the number of rows that it wrote."""
        printed = self._prints[statement]
        self._cursor.execute(printed.text, printed.arguments(values))
        return self._cursor.rowcount

    def run_many(self, statement: ClauseElement, rows: Sequence[Values]) -> int:
        """Run a statement once for each of ``rows``, and return how many rows all wrote.

        PostgreSQL receives all of them before its first reply is read.
        """
        if not rows:
            return 0
        printed = self._prints[statement]
        self._cursor.executemany(printed.text, [printed.arguments(row) for row in rows])
        return self._cursor.rowcount

    def one(self, statement: ClauseElement, values: Values) -> Row | None:
        """Run a statement, and return its first row or None."""
        printed = self._prints[statement]
        self._cursor.execute(printed.text, printed.arguments(values))
        row: Row | None = self._cursor.fetchone()
        return row

    def all(self, statement: ClauseElement, values: Values) -> list[Row]:
        """Run a statement, and return all of its rows."""
        printed = self._prints[statement]
        self._cursor.execute(printed.text, printed.arguments(values))
        rows: list[Row] = self._cursor.fetchall()
        return rows


# ------------------------------------------------------------------ writer lock

LONGEST_WAIT = 60
"""Seconds for which a writer waits for the ones before it."""


class WriterLock:
    """A lock that lets one writer of this process at a time into the database (ADR 45).

    Charges of one population wait for each other in any case, and PostgreSQL becomes slower the
    more connections wait for the same row. So they wait here.

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
        """Acquire the lock, and return it; the writer releases it at its end."""
        if self._home != forks.count:  # in a forked child, the lock may be held by the parent
            self._lock, self._home = Lock(), forks.count
        turn = self._lock
        if not turn.acquire(timeout=LONGEST_WAIT):
            raise StoreFailed("The store is busy and nothing was written. Ask again.")
        return turn


# ------------------------------------------------------------------ errors of databases
# Driver errors are mapped to our own. The text of a driver error may contain values that were
# being written, so it is not shown; the operator finds it as the cause of our exception.

UNIQUE = {1555, 2067, "23505"}
"""Codes of SQLite and PostgreSQL for a duplicate key."""

AGAIN = {"40001", "40P01"}
"""PostgreSQL's codes for a transaction that was aborted because of another one."""

REFUSED = {"23502", "23514", "P0001"}
"""PostgreSQL's codes for a violated constraint, or an exception raised by our triggers."""

BUSY = {5, 6, "55P03", "57014"}
"""Codes for a timeout while another transaction has the lock."""

CONSTRAINT = 19
"""SQLite's code for any violated constraint."""

GONE = ("08", "57P")
"""Prefixes of PostgreSQL's codes for a server that shuts down or cannot be reached."""

FATAL = {8, 10, 11, 13, 14, 26}
"""SQLite's codes for a disk that fails or is full, or a file that is not a database."""


def failure_of(error: Exception, *, lost: bool) -> TacitError:
    """Return our error for the driver's ``error``; ``lost`` if the connection was lost.

    A disk failure during a commit is treated like a lost connection: a commit whose sync failed
    may or may not be found again later.
    """
    code = _code(error)
    if code in UNIQUE or code in AGAIN:
        return Conflict("Another writer was first, and nothing was written; try again.")
    if lost or is_fatal(error) or str(code).startswith(GONE):
        return ConnectionLost(
            "The connection to the store's database was lost. Ask again with the same "
            "idempotency key to find out whether the request was recorded."
        )
    if code in BUSY or _primary(error) in BUSY:
        return StoreFailed("The store is busy and nothing was written. Ask again.")
    if code in REFUSED or _primary(error) == CONSTRAINT:
        return InternalError("The store refused a change that violates one of its constraints.")
    return StoreFailed("The store could not be written, so no answer is released.")


def is_fatal(error: Exception) -> bool:
    """Return whether the disk failed, so that the store must not be used any longer.

    After a failed fsync, a second fsync may report success although the data is lost.
    Reference: the PostgreSQL developers' "fsyncgate" of 2018.
    """
    return _primary(error) in FATAL


def _primary(error: Exception) -> int:
    """Return SQLite's primary error code, or 0 for other databases."""
    code: int = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code


def _code(error: Exception) -> int | str:
    code: int | str = (
        getattr(error, "sqlite_errorcode", None) or getattr(error, "sqlstate", None) or ""
    )
    return code
