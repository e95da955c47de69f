"""Open a store: a SQLite file for one machine, or a PostgreSQL database for several.

Both are configured so that a commit is on the disk when it returns, because an answer is
released only after its charge is durable. A file system without a write-ahead log and a
PostgreSQL server without fsync are refused.
"""

import os
import sqlite3
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from tacit.errors import InvalidValue, MissingExtra, StoreFailed
from tacit.extras import how_to_install, is_installed
from tacit.store.file_guard import FileGuard
from tacit.store.store import SqlStore

WAIT_SECONDS = 60
"""Seconds for which a writer waits for the one before it."""

WAIT_BETWEEN = 0.01
PRIMARY_CODE = 0xFF
"""Mask for the primary part of a SQLite error code; the rest gives details."""

CHECKPOINT_PAGES = 30_000
"""Number of pages in the write-ahead log before they are copied to the file: 117 MiB.

Keys are hashes, so in a long history every charge touches different pages. With fewer and
larger checkpoints, fewer charges are delayed.
"""

LOG = "journal_mode=WAL"
PRAGMAS = (
    "synchronous=FULL",
    "fullfsync=ON",
    f"wal_autocheckpoint={CHECKPOINT_PAGES}",
    "cache_size=-65536",
    "trusted_schema=OFF",
    "recursive_triggers=ON",  # so that INSERT OR REPLACE fires the triggers of a deletion
)


def open_sqlite(path: Path) -> SqlStore:
    """Open the store in the file ``path``, and create it, with mode 600, if there is none.

    Guarantee: a commit is on the disk when it returns, if the disk reports syncs correctly.
    Reference: sqlite.org/pragma.html#pragma_synchronous, on FULL in WAL mode.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        raise StoreFailed(
            "The file of the store cannot be created or written. Check its path and rights."
        ) from error
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

    guard = FileGuard(path.absolute())
    return SqlStore(engine, write="BEGIN IMMEDIATE", read="BEGIN", guard=guard)


def _prepare(connection: Any, folder: Path) -> None:
    """Configure a connection, and check two faults that SQLite itself ignores.

    SQLite neither reports that a write-ahead log could not be used, nor syncs the folder.
    """
    mode = _set_log_mode(connection)
    if mode != ("wal",):
        raise StoreFailed(
            "The file of the store cannot use a write-ahead log: the disk is failing, full or "
            "on a network. Put the file on a working disk of this machine."
        )
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()
    try:
        sync_folder(folder)
    except OSError as error:
        raise StoreFailed(
            "The folder of the store's file cannot be synced to the disk. Check the disk."
        ) from error


def _set_log_mode(connection: Any) -> object:
    """Set the log mode, and return the mode that SQLite reports.

    If two processes change the mode of a new file at once, SQLite fails at once for the second
    one and does not wait, so this function waits.
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
    """Write a folder to the disk, so that the name of a new file survives a crash."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# ------------------------------------------------------------------ PostgreSQL

SETTINGS = {
    "synchronous_commit": "on",
    "lock_timeout": "60s",
    "statement_timeout": "120s",
    # a writer that hangs in the middle must not block all others for ever
    "idle_in_transaction_session_timeout": "30s",
    # Rows are found by their keys. A plan that was made while a table was small would read the
    # whole table until the database analyses it again, and each charge would cost more.
    "enable_seqscan": "off",
    # A whole table must sometimes be read all the same, and this setting makes that look so
    # expensive that PostgreSQL would compile each such statement, for half a second.
    "jit": "off",
}

NETWORK = {
    "connect_timeout": 10,
    # a server that vanished is noticed within a minute, before the kernel's own timeout
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}

WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


def open_postgres(address: URL) -> SqlStore:
    """Open the store in the database at ``address``.

    Guarantee: a commit is on the server's disk when it returns, if the disk reports syncs
    correctly. A server that runs without fsync is refused.
    """
    if not is_installed("postgres"):
        raise MissingExtra(
            f"A store in PostgreSQL needs an optional dependency. {how_to_install('postgres')}"
        )
    options = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
    engine = create_engine(
        address.set(drivername="postgresql+psycopg"),
        connect_args={"autocommit": True, "options": options, **NETWORK},
        pool_reset_on_return=None,
        pool_size=8,
        max_overflow=-1,
    )
    try:
        _check_syncs(engine)
    except BaseException:
        engine.dispose()
        raise
    return SqlStore(engine, write=WRITE, read=READ)


def _check_syncs(engine: Engine) -> None:
    try:
        with engine.connect() as connection:
            syncs = connection.execute(
                text("SELECT current_setting('fsync'), current_setting('full_page_writes')")
            ).one()
    except DBAPIError as error:
        raise StoreFailed(
            "The PostgreSQL server of the store does not respond. Check its address, and that "
            "it runs."
        ) from error
    if tuple(syncs) != ("on", "on"):
        raise StoreFailed(
            "This PostgreSQL server runs without fsync or full_page_writes, so a charge could "
            "be lost after its answer was released. Set both to on."
        )


# ------------------------------------------------------------------ addresses


def open_store(address: str) -> SqlStore:
    """Open the store at ``sqlite:///a/file.db`` or ``postgresql://user@host/name``.

    Example:
        >>> open_store("mysql://somewhere")
        Traceback (most recent call last):
        ...
        tacit.errors.InvalidValue: A store must be sqlite:///FILE or postgresql://HOST/NAME.
    """
    # the address may contain a password, so the message does not repeat it
    refusal = "A store must be sqlite:///FILE or postgresql://HOST/NAME."
    try:
        url = make_url(address)
    except ArgumentError as error:
        raise InvalidValue(refusal) from error
    if url.drivername == "postgresql":
        return open_postgres(url)
    if url.drivername == "sqlite" and url.database:
        return open_sqlite(Path(url.database))
    raise InvalidValue(refusal)
