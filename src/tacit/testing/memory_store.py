"""A store in memory for tests, without files, servers or waiting.

The idea: the database is one value, the bytes of an SQLite database. A unit of work that reads
opens a copy of these bytes, so it sees one moment and delays no writer. A unit of work that
writes holds the one lock of the store and uses the connection of the writer. When it ends, the
bytes of that connection become the new value. Nothing survives the process, so durability is
the one guarantee of `tacit.store.store.Store` that this store does not have.

The tables, triggers and statements are the same as in a store in a file: the migrations run
once in each process, and every new store starts with a copy of their result.
"""

import sqlite3
from functools import cache
from threading import Lock
from types import TracebackType
from typing import cast

from sqlalchemy import StaticPool, create_engine
from sqlalchemy.dialects.sqlite import dialect

from tacit.errors import StoreFailed
from tacit.store import PRAGMAS, Prints, SeenChains, Work, failure_of, migrate

PAGE_BYTES = 1024
"""The page size; small pages make small copies. An empty store has about 50 pages."""

LONGEST_WAIT = 10
"""The seconds that a writer waits for another one, so that a test that nests them fails."""

WRITE = "BEGIN IMMEDIATE"

_prints = Prints(dialect(paramstyle="qmark"))
"""The cache of printed statements, which are the same for every store in memory."""


class MemoryStore:
    """A new, empty store with all guarantees of `Store` except durability.

    Example:
        >>> from sqlalchemy import insert, select
        >>> from tacit.store.tables import states
        >>> store = MemoryStore()
        >>> with store.writing() as work:
        ...     work.run(insert(states), {"name": "a", "version": 1, "sealed": b""})
        1
        >>> with store.reading() as work:
        ...     work.all(select(states.c.name), {})
        [('a',)]
    """

    def __init__(self) -> None:
        self.image = _empty_image()
        self.known = SeenChains()
        self._lock = Lock()
        self._writer = _connect(self.image)
        self._work: Work | None = None

    def writing(self) -> "MemoryWriting":
        """Return a unit of work that writes; see `Store`."""
        return MemoryWriting(self)

    def reading(self) -> "MemoryReading":
        """Return a unit of work that reads; see `Store`."""
        return MemoryReading(self.image, self.known)

    def looking(self) -> "MemoryReading":
        """Return a unit of work of one statement, which reads; see `Store`."""
        return MemoryReading(self.image, self.known)

    def check_file(self) -> None:
        """Do nothing: there is no file."""

    def close(self) -> None:
        """Close the writer's connection; a closed store opens again when it is used."""
        self._writer.close()
        self._writer = _connect(self.image)

    def begin(self) -> Work:
        """Begin to write; `MemoryWriting` calls this method, and `end` after it."""
        if not self._lock.acquire(timeout=LONGEST_WAIT):
            raise StoreFailed("The store is busy, and nothing was written. Try again.")
        cursor = self._writer.cursor()
        cursor.execute(WRITE)
        self._work = Work(cursor, _prints)
        self._work.known = self.known
        return self._work

    def end(self, error: BaseException | None) -> None:
        """Commit the work, or undo it if it stopped with ``error``."""
        try:
            if error is None:
                self._writer.execute("COMMIT")
                self.image = self._writer.serialize()
                if self._work is not None:
                    self.known.ends.update(self._work.written)
            elif self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
        except sqlite3.Error as fault:
            self.close()
            raise failure_of(fault, lost=False) from fault
        finally:
            self._lock.release()
        if isinstance(error, sqlite3.Error):
            raise failure_of(error, lost=False) from error


class MemoryWriting:
    """A unit of work that writes, while no other one does."""

    __slots__ = ("_store",)

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def __enter__(self) -> Work:
        return self._store.begin()

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._store.end(error)


class MemoryReading:
    """A unit of work that reads a copy of the store, taken when the unit was made."""

    __slots__ = ("_connection", "_image", "_known")

    def __init__(self, image: bytes, known: SeenChains) -> None:
        self._image = image
        self._known = known

    def __enter__(self) -> Work:
        self._connection = _connect(self._image)
        self._connection.execute("PRAGMA query_only=ON").close()
        work = Work(self._connection.cursor(), _prints)
        work.known = self._known
        return work

    def __exit__(
        self, _: object, error: BaseException | None, __: TracebackType | None
    ) -> None:
        self._connection.close()
        if isinstance(error, sqlite3.Error):
            raise failure_of(error, lost=False) from error


def _connect(image: bytes) -> sqlite3.Connection:
    """Return a connection to a copy of ``image``, with the settings of a store."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.deserialize(image)
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()
    return connection


@cache
def _empty_image() -> bytes:
    """Return the bytes of a database that has all tables and no row."""
    engine = create_engine(
        "sqlite://", connect_args={"isolation_level": None}, poolclass=StaticPool
    )
    with engine.connect() as connection:
        connection.exec_driver_sql(f"PRAGMA page_size={PAGE_BYTES}")
        connection.rollback()
        migrate(connection, WRITE)
        made = cast("sqlite3.Connection", connection.connection.dbapi_connection)
        image = made.serialize()
    engine.dispose()
    return image
