"""A store in one file, for one machine: SQLite, which syncs each commit to the disk."""

import os
import sqlite3
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from sqlalchemy import create_engine, event
from sqlalchemy.engine import URL

from tacit.errors import StoreFailed
from tacit.store.store import SqlStore

WAIT_SECONDS = 60
"""How long a writer waits for the one before it."""

WAIT_BETWEEN = 0.01
PRIMARY_CODE = 0xFF
"""The part of an error's code that says what it is; the rest says where."""

CHECKPOINT_PAGES = 30_000
"""How many pages the write-ahead log gathers before they go into the file, 117 MiB.

Keys are hashes, so in a long history every charge touches other pages: gathered in fewer turns,
their writing delays fewer charges.
"""

LOG = "journal_mode=WAL"
PRAGMAS = (
    "synchronous=FULL",
    "fullfsync=ON",
    f"wal_autocheckpoint={CHECKPOINT_PAGES}",
    "cache_size=-65536",
    "trusted_schema=OFF",
    "recursive_triggers=ON",  # INSERT OR REPLACE is a deletion too
)


def open_sqlite(path: Path) -> SqlStore:
    """The store in the file ``path``, made where there is none, readable by its owner alone.

    Guarantee: a commit is on the disk when it returns, as far as the disk tells the truth.
    Reference: sqlite.org/pragma.html#pragma_synchronous, on FULL in WAL mode.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        raise StoreFailed("The store's file can be neither made nor written.") from error
    engine = create_engine(
        URL.create("sqlite", database=str(path.absolute())),
        connect_args={
            "isolation_level": None,
            "timeout": WAIT_SECONDS,
            "check_same_thread": False,
        },
        pool_reset_on_return=None,
        pool_size=8,
        max_overflow=-1,
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        try:
            _prepare(connection, path.absolute().parent)
        except BaseException:
            connection.close()
            raise

    return SqlStore(engine, write="BEGIN IMMEDIATE", read="BEGIN")


def _prepare(connection: Any, folder: Path) -> None:
    """Set the connection up; both faults that are looked for here, SQLite passes over."""
    mode = _logged_ahead(connection)
    if mode != ("wal",):
        raise StoreFailed(
            "The store's file takes no write-ahead log: its disk is failing, full or a "
            "network's. Put it on a sound disk of this machine."
        )
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()
    try:
        sync_folder(folder)
    except OSError as error:
        raise StoreFailed("The folder of the store's file cannot be synced.") from error


def _logged_ahead(connection: Any) -> object:
    """The mode of the log, once it is set; whoever comes second to a new file waits here.

    SQLite does not wait by itself where two bring a file to another log at once.
    """
    end = monotonic() + WAIT_SECONDS
    while True:
        try:
            return connection.execute(f"PRAGMA {LOG}").fetchone()
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & PRIMARY_CODE == sqlite3.SQLITE_BUSY
            if not busy or monotonic() > end:
                raise
            sleep(WAIT_BETWEEN)


def sync_folder(folder: Path) -> None:
    """Bring the names of the folder's files to the disk, so that a new log is found again."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
