"""Bring a database to the tables of this version, once, however many processes ask for it."""

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
from tacit.store.unit_of_work import (
    DriverCursor,
    Prints,
    Work,
    WriterLock,
    failure_of,
    is_fatal,
)

NEWEST = "0004"
"""The last step in `tacit.store.migrations.versions`."""


ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(7418121920030001)"
"""PostgreSQL's lock for whoever migrates; SQLite has one writer at a time anyway."""

_one_thread = Lock()
"""Alembic keeps what it works on in one place of the process."""


def migrate(connection: Connection, begin: str) -> None:
    """Run the steps that are missing; a database of a newer version is refused."""
    if _version(connection) == NEWEST:
        return
    connection.rollback()
    connection.exec_driver_sql(begin)
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(ONE_AT_A_TIME)
    found = _version(connection)
    if found is not None and found > NEWEST:
        raise StoreFailed(
            f"The store has the tables of step {found}, and this version of Tacit knows those "
            f"up to {NEWEST}; install a newer Tacit."
        )
    with _one_thread:
        later("tacit.store.upgrade").upgrade(connection)
    connection.commit()


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


# ------------------------------------------------------------------ store
# The port to the one database: units of work, durable when they end.

Seat = tuple[PoolProxiedConnection, DriverCursor]
"""A connection and the cursor that speaks on it."""

NO_BEGIN = ""
"""For one statement that reads."""

_of_parents: list[Seat] = []
"""Connections that a forked child was born with: held, so that nothing here closes them."""


class Store(Protocol):
    """One database for charges, releases, states and tokens."""

    def writing(self) -> AbstractContextManager[Work]:
        """A unit of work that writes.

        Guarantee: when the block ends, all of it survives a crash; where anything is raised,
        none of it happened, but for `ConnectionLost`, which says that this is not known.
        """
        ...

    def reading(self) -> AbstractContextManager[Work]:
        """A unit of work that reads one moment of the store, and delays no writer."""
        ...

    def looking(self) -> AbstractContextManager[Work]:
        """A unit of work of one statement, which reads: a moment of its own, and cheaper."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...


class SqlStore:
    """A store in a database that SQLAlchemy speaks to; `sqlite` and `postgres` open one."""

    def __init__(self, engine: Engine, *, write: str, read: str) -> None:
        self._engine = engine
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
        except DBAPIError as error:
            engine.dispose()
            raise StoreFailed(
                "The store could not be opened: its database refused. Look at its address, "
                "that its server runs, and that it may be written."
            ) from error
        except BaseException:
            engine.dispose()
            raise

    def writing(self) -> AbstractContextManager[Work]:
        """A unit of work that writes; see `Store`."""
        return UnitOfWork(self, self._write, self._turns)

    def reading(self) -> AbstractContextManager[Work]:
        """A unit of work that reads; see `Store`."""
        return UnitOfWork(self, self._read)

    def looking(self) -> AbstractContextManager[Work]:
        """A unit of work of one statement, which reads; see `Store`."""
        return UnitOfWork(self, NO_BEGIN)

    def close(self) -> None:
        """Let go of the database; a store that was closed opens again when it is used."""
        self._let_go(close=self._home == forks.count)

    def begin(self, statement: str) -> tuple[Seat, Work]:
        """Begin a unit of work by ``statement``; `UnitOfWork` calls this, and ends it.

        Without a statement, what is read is its own beginning and end.
        """
        self._usable()
        seat = self._connect()
        cursor = seat[1]
        try:
            if statement != NO_BEGIN:
                cursor.execute(statement)
        except self._driver_error as error:
            raise self._failed(seat, error) from error
        return seat, Work(cursor, self._prints)

    def end(self, seat: Seat, error: BaseException | None, begun: str) -> None:
        """Commit what ``begun`` began, or, where the work stopped at ``error``, roll back."""
        if isinstance(error, self._driver_error):
            raise self._failed(seat, error) from error
        try:
            if begun == NO_BEGIN:
                seat[1].fetchall()  # SQLite reads on until all is fetched
            else:
                seat[1].execute("COMMIT" if error is None else "ROLLBACK")
        except self._driver_error as fault:
            failure = self._failed(seat, fault)
            if error is None:
                raise failure from fault
        else:
            self._idle.append(seat)

    def _connect(self) -> Seat:
        """A connection that nobody uses: going back to the pool each time costs too much."""
        with suppress(IndexError):
            return self._idle.pop()
        try:
            connection = self._engine.raw_connection()
            return connection, connection.cursor()
        except (DBAPIError, PoolTimeout, self._driver_error) as error:
            self._broken |= is_fatal(error)
            raise StoreFailed("The store's database does not answer; try again.") from error

    def _failed(self, seat: Seat, error: Any) -> TacitError:
        """What the driver's ``error`` means; its connection is of no use any more."""
        connection, cursor = seat
        # looked at first: once we closed it, every connection looks lost
        lost = self._engine.dialect.is_disconnect(error, connection.dbapi_connection, None)
        cursor.close()  # an open one would keep SQLite's connection half alive
        connection.invalidate()
        self._broken |= is_fatal(error)
        return failure_of(error, lost=lost)

    def _usable(self) -> None:
        if self._broken:
            raise StoreFailed(
                "The disk failed under this store. Nothing more is written through it: look at "
                "the disk, and open the store again."
            )
        if self._home != forks.count:
            # a forked child must not speak on its parent's connections
            self._let_go(close=False)
            self._home = forks.count

    def _let_go(self, *, close: bool) -> None:
        """Forget all connections; those of another process are left to it."""
        idle, self._idle = self._idle, deque()
        if close:
            for connection, _ in idle:
                connection.close()
        else:
            _of_parents.extend(idle)
        self._engine.dispose(close=close)


class UnitOfWork:
    """What `SqlStore.writing`, `SqlStore.reading` and `SqlStore.looking` give.

    A class and no generator: a charge is short enough for the difference to count.
    """

    __slots__ = ("_begin", "_seat", "_store", "_turn", "_turns")

    def __init__(self, store: SqlStore, begin: str, turns: WriterLock | None = None) -> None:
        self._store = store
        self._begin = begin
        self._turns = turns

    def __enter__(self) -> Work:
        self._turn = self._turns.take() if self._turns else None
        try:
            self._seat, work = self._store.begin(self._begin)
        except BaseException:
            self._over()
            raise
        return work

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            self._store.end(self._seat, error, self._begin)
        finally:
            self._over()

    def _over(self) -> None:
        if self._turn is not None:
            self._turn.release()
