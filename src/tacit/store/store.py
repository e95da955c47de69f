"""The store: units of work on one database, and the migration of its tables.

A `Store` gives units of work that are durable when they end. `SqlStore` implements it over
SQLAlchemy's connections, for SQLite and PostgreSQL. When a store is opened, its tables are
migrated to those of this version, once, even if several processes open it at the same time.
"""

from collections import deque
from contextlib import AbstractContextManager, suppress
from threading import Lock
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, PoolProxiedConnection, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tacit.errors import StoreFailed, TacitError
from tacit.extras import later
from tacit.numeric.entropy import forks
from tacit.store.file_guard import FileGuard
from tacit.store.unit_of_work import (
    DriverCursor,
    Prints,
    SeenChains,
    Work,
    WriterLock,
    failure_of,
    is_fatal,
)

NEWEST = "0008"
"""The newest migration in `tacit.store.migrations.versions`."""


ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(7418121920030001)"
"""The lock of the process that migrates in PostgreSQL. SQLite has one writer in any case."""

_one_thread = Lock()
"""A lock for migrations, because Alembic stores its context in global variables."""


def migrate(connection: Connection, begin: str) -> None:
    """Run the migrations that are missing; refuse a database of a newer version of Tacit."""
    if _version(connection) == NEWEST:
        return
    connection.rollback()
    connection.exec_driver_sql(begin)
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(ONE_AT_A_TIME)
    found = _version(connection)
    if found is not None and found > NEWEST:
        raise StoreFailed(
            f"The store has the tables of migration {found}, but this version of Tacit knows "
            f"migrations up to {NEWEST}. Install a newer version of Tacit."
        )
    with _one_thread:
        later("tacit.store.upgrade").upgrade(connection)
    connection.commit()


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


# ------------------------------------------------------------------ store

Seat = tuple[PoolProxiedConnection, DriverCursor]
"""A connection and its cursor."""

NO_BEGIN = ""
"""No BEGIN: a unit of work of one statement that reads."""

_of_parents: list[Seat] = []
"""Connections that a forked child inherited. They are referenced here so that the garbage
collector does not close them, because closing would disturb the parent process."""


class Store(Protocol):
    """One database for charges, releases, states and tokens."""

    def writing(self) -> AbstractContextManager[Work]:
        """Begin a unit of work that writes.

        Guarantee: when the block ends, all of it survives a crash. If an error is raised, none
        of it happened, except for `ConnectionLost`, after which this is not known.
        """
        ...

    def reading(self) -> AbstractContextManager[Work]:
        """Begin a unit of work that reads one snapshot of the store, and blocks no writer."""
        ...

    def looking(self) -> AbstractContextManager[Work]:
        """Begin a unit of work of one statement that reads. It needs no BEGIN and COMMIT."""
        ...

    def check_file(self) -> None:
        """Raise `LedgerBroken` if the database's file was deleted or replaced since.

        A unit of work that writes checks this by itself. One that reads goes on with the file
        that was opened.
        """
        ...

    def close(self) -> None:
        """Close the connections to the database."""
        ...


class SqlStore:
    """A store in a database of SQLAlchemy; see `tacit.store.connect`.

    A ``guard`` notices that the file of the database was deleted, replaced or cut short.
    """

    def __init__(
        self, engine: Engine, *, write: str, read: str, guard: FileGuard | None = None
    ) -> None:
        self._engine = engine
        self._guard = guard
        self.known = SeenChains()
        """The ends of chains that this process has seen in this store."""
        self._write = write
        self._read = read
        self._home = forks.count
        self._broken = False
        self._idle: deque[Seat] = deque()
        self._turns = WriterLock()
        self._driver_error = engine.dialect.loaded_dbapi.Error
        self._prints = Prints(engine.dialect)
        try:
            with engine.connect() as connection:
                migrate(connection, write)
            if guard is not None:
                guard.begin()
        except DBAPIError as error:
            engine.dispose()
            raise StoreFailed(
                "The store could not be opened, because its database reported an error. Check "
                "its address, that its server runs, and that it can be written. If its file is "
                "damaged, keep it for the inquiry, and restore the newest copy of the ledger."
            ) from error
        except BaseException:
            engine.dispose()
            raise

    def writing(self) -> AbstractContextManager[Work]:
        """Begin a unit of work that writes; see `Store`."""
        return UnitOfWork(self, self._write, self._turns)

    def reading(self) -> AbstractContextManager[Work]:
        """Begin a unit of work that reads; see `Store`."""
        return UnitOfWork(self, self._read)

    def looking(self) -> AbstractContextManager[Work]:
        """Begin a unit of work of one statement that reads; see `Store`."""
        return UnitOfWork(self, NO_BEGIN)

    def check_file(self) -> None:
        """Raise `LedgerBroken` if the file was deleted or replaced; see `Store`."""
        if self._guard is not None:
            self._guard.check_name(self.known, self._prints)

    def close(self) -> None:
        """Close the connections; a closed store connects again when it is used."""
        self._drop_connections(close=self._home == forks.count)

    def begin(self, statement: str) -> tuple[Seat, Work]:
        """Begin a unit of work by ``statement``, for `UnitOfWork`, which also ends it.

        With `NO_BEGIN`, the one statement that follows is a transaction of its own.
        """
        self._check_usable()
        if self._guard is not None and statement == self._write:
            self._guard.check(self.known, self._prints)
        seat = self._connect()
        cursor = seat[1]
        try:
            if statement != NO_BEGIN:
                cursor.execute(statement)
        except self._driver_error as error:
            raise self._translate(seat, error) from error
        work = Work(cursor, self._prints)
        work.known = self.known
        return seat, work

    def end(self, seat: Seat, error: BaseException | None, begun: str) -> None:
        """Commit the unit of work that ``begun`` began, or roll it back after an ``error``."""
        if isinstance(error, self._driver_error):
            raise self._translate(seat, error) from error
        try:
            if begun == NO_BEGIN:
                seat[1].fetchall()  # SQLite's statement stays open until all rows are fetched
            else:
                seat[1].execute("COMMIT" if error is None else "ROLLBACK")
        except self._driver_error as fault:
            failure = self._translate(seat, fault)
            if error is None:
                raise failure from fault
        else:
            self._idle.append(seat)

    def _connect(self) -> Seat:
        """Return an idle connection, or a new one.

        Idle connections are reused here, because returning them to SQLAlchemy's pool after
        each unit of work is slow.
        """
        with suppress(IndexError):
            return self._idle.pop()
        self.check_file()  # a new connection would open the file that now has the name
        try:
            connection = self._engine.raw_connection()
            return connection, connection.cursor()
        except (DBAPIError, PoolTimeout, self._driver_error) as error:
            self._broken |= is_fatal(error)
            raise StoreFailed(
                "The database of the store does not respond. Try again."
            ) from error

    def _translate(self, seat: Seat, error: Any) -> TacitError:
        """Discard the connection, and return our error for the driver's ``error``."""
        connection, cursor = seat
        # checked before the connection is closed, because a closed one always looks lost
        lost = self._engine.dialect.is_disconnect(error, connection.dbapi_connection, None)
        cursor.close()  # an open cursor would keep SQLite's connection open
        connection.invalidate()
        if self._guard is not None:
            self._guard.forget_log()
        self._broken |= is_fatal(error)
        return failure_of(error, lost=lost)

    def _check_usable(self) -> None:
        if self._broken:
            raise StoreFailed(
                "The disk of this store failed, so nothing more is written. Check the disk, "
                "and open the store again."
            )
        if self._home != forks.count:
            # a forked child must not use its parent's connections
            self._drop_connections(close=False)
            self._home = forks.count

    def _drop_connections(self, *, close: bool) -> None:
        """Drop all connections; those of a parent process are not closed."""
        idle, self._idle = self._idle, deque()
        if self._guard is not None:
            self._guard.forget_log()  # the last connection that closes deletes it
        if close:
            for connection, _ in idle:
                connection.close()
        else:
            _of_parents.extend(idle)
        self._engine.dispose(close=close)


class UnitOfWork:
    """The context manager that `SqlStore.writing`, `reading` and `looking` return.

    It is a class and not a generator, which would be measurably slower for a short charge.
    """

    __slots__ = ("_begin", "_seat", "_store", "_turn", "_turns", "_work")

    def __init__(self, store: SqlStore, begin: str, turns: WriterLock | None = None) -> None:
        self._store = store
        self._begin = begin
        self._turns = turns

    def __enter__(self) -> Work:
        self._turn = self._turns.take() if self._turns else None
        try:
            self._seat, self._work = self._store.begin(self._begin)
        except BaseException:
            self._release()
            raise
        return self._work

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            self._store.end(self._seat, error, self._begin)
            if error is None and self._work.written:
                self._store.known.ends.update(
                    self._work.written
                )  # while this writer has its turn
        finally:
            self._release()

    def _release(self) -> None:
        if self._turn is not None:
            self._turn.release()
