"""A store in one file, for one machine: SQLite, which syncs each commit to the disk."""

import os
import sqlite3
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from tacit.errors import InvalidValue, MissingExtra, StoreFailed
from tacit.extras import installed
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


# ------------------------------------------------------------------ postgres
# A store for a team: PostgreSQL, shared by any number of processes and machines.

SETTINGS = {
    "synchronous_commit": "on",
    "lock_timeout": "60s",
    "statement_timeout": "120s",
    # a writer that stopped in the middle must not hold up all others for ever
    "idle_in_transaction_session_timeout": "30s",
}

NETWORK = {
    "connect_timeout": 10,
    # a server that vanished is noticed in a minute, not when the kernel gives up
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}

WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


def open_postgres(address: URL) -> SqlStore:
    """The store in the database at ``address``.

    Guarantee: a commit is on the server's disk when it returns, as far as that disk tells the
    truth; a server that runs without fsync is refused.
    """
    if not installed("postgres"):
        raise MissingExtra(
            'A store in PostgreSQL needs an optional part: pip install "tacit[postgres]"'
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
            "The store's PostgreSQL does not answer; look at its address and that it runs."
        ) from error
    if tuple(syncs) != ("on", "on"):
        raise StoreFailed(
            "This PostgreSQL runs without fsync or full_page_writes, so a charge could be lost "
            "after its answer has left; set both to on."
        )


# ------------------------------------------------------------------ open
# Open a store by its address.


def open_store(address: str) -> SqlStore:
    """The store at ``address``: ``sqlite:///a/file.db`` or ``postgresql://user@host/name``.

    Example:
        >>> open_store("mysql://somewhere")
        Traceback (most recent call last):
        ...
        tacit.errors.InvalidValue: A store is sqlite:///FILE or postgresql://HOST/NAME.
    """
    # the address may hold a password, so it is not repeated
    refusal = "A store is sqlite:///FILE or postgresql://HOST/NAME."
    try:
        url = make_url(address)
    except ArgumentError as error:
        raise InvalidValue(refusal) from error
    if url.drivername == "postgresql":
        return open_postgres(url)
    if url.drivername == "sqlite" and url.database:
        return open_sqlite(Path(url.database))
    raise InvalidValue(refusal)
