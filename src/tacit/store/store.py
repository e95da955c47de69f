"""The port to the one database: units of work, durable when they end."""

from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Protocol

from sqlalchemy import Engine, PoolProxiedConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tacit.errors import StoreFailed, TacitError
from tacit.numeric.forks import forks
from tacit.store.failure import failure_of, is_fatal
from tacit.store.migrate import migrate
from tacit.store.work import Prints, Work

_of_parents: list[PoolProxiedConnection] = []
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
        self._idle: deque[PoolProxiedConnection] = deque()
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
        return self._work(self._write)

    def reading(self) -> AbstractContextManager[Work]:
        """A unit of work that reads; see `Store`."""
        return self._work(self._read)

    def close(self) -> None:
        """Let go of the database; a store that was closed opens again when it is used."""
        self._let_go(close=self._home == forks.count)

    @contextmanager
    def _work(self, begin: str) -> Iterator[Work]:
        self._usable()
        driver = self._engine.dialect.loaded_dbapi
        connection = self._connect()
        sound = True
        try:
            cursor = connection.cursor()
            cursor.execute(begin)
            yield Work(cursor, self._prints)
            cursor.execute("COMMIT")
        except driver.Error as error:
            sound = False
            raise self._failed(connection, error) from error
        except BaseException:
            try:
                connection.cursor().execute("ROLLBACK")
            except driver.Error as error:
                sound = False
                self._failed(connection, error)
            raise
        finally:
            if sound:
                self._idle.append(connection)
            else:
                connection.close()

    def _connect(self) -> PoolProxiedConnection:
        """A connection that nobody uses: going back to the pool each time costs too much."""
        with suppress(IndexError):
            return self._idle.pop()
        try:
            return self._engine.raw_connection()
        except (DBAPIError, PoolTimeout, self._engine.dialect.loaded_dbapi.Error) as error:
            self._broken |= is_fatal(error)
            raise StoreFailed("The store's database does not answer; try again.") from error

    def _failed(self, connection: PoolProxiedConnection, error: Any) -> TacitError:
        """What the driver's ``error`` means; its connection is of no use any more."""
        # looked at first: once we closed it, every connection looks lost
        lost = self._engine.dialect.is_disconnect(error, connection.dbapi_connection, None)
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
            for connection in idle:
                connection.close()
        else:
            _of_parents.extend(idle)
        self._engine.dispose(close=close)
