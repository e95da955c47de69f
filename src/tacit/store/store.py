"""The port to the one database: units of work, durable when they end."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from sqlalchemy import Engine, PoolProxiedConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.sql.expression import ClauseElement

from tacit.errors import StoreFailed, TacitError
from tacit.store.failure import failure_of, is_fatal
from tacit.store.migrate import migrate
from tacit.store.work import Printed, Work


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
        self._home = os.getpid()
        self._broken = False
        self._printed: dict[ClauseElement, Printed] = {}
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
        self._engine.dispose(close=self._home == os.getpid())

    @contextmanager
    def _work(self, begin: str) -> Iterator[Work]:
        self._usable()
        driver = self._engine.dialect.loaded_dbapi
        connection = self._connect()
        try:
            cursor = connection.cursor()
            cursor.execute(begin)
            yield Work(cursor, self._print)
            cursor.execute("COMMIT")
        except driver.Error as error:
            raise self._failed(connection, error) from error
        except BaseException:
            try:
                connection.cursor().execute("ROLLBACK")
            except driver.Error as error:
                self._failed(connection, error)
            raise
        finally:
            connection.close()

    def _connect(self) -> PoolProxiedConnection:
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
        if self._home != os.getpid():
            # a forked child must not speak on its parent's connections
            self._engine.dispose(close=False)
            self._home = os.getpid()

    def _print(self, statement: ClauseElement) -> Printed:
        printed = self._printed.get(statement)
        if printed is None:
            printed = self._printed[statement] = Printed.of(statement, self._engine.dialect)
        return printed
