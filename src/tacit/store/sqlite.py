"""A store in one file, for one machine: SQLite, which syncs each commit to the disk."""

from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, event

from tacit.store.store import SqlStore

WAIT_SECONDS = 60
"""How long a writer waits for the one before it."""

CHECKPOINT_PAGES = 4000
"""How many pages the write-ahead log gathers before they go into the file, 16 MiB."""

PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "fullfsync=ON",
    f"wal_autocheckpoint={CHECKPOINT_PAGES}",
    "cache_size=-65536",
    "trusted_schema=OFF",
)


def open_sqlite(path: Path) -> SqlStore:
    """The store in the file ``path``, made where there is none, readable by its owner alone.

    Guarantee: a commit is on the disk when it returns, as far as the disk tells the truth.
    Reference: sqlite.org/pragma.html#pragma_synchronous, on FULL in WAL mode.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    engine = create_engine(
        f"sqlite:///{path.absolute()}",
        connect_args={
            "isolation_level": None,
            "timeout": WAIT_SECONDS,
            "check_same_thread": False,
        },
        pool_reset_on_return=None,
        pool_size=8,
        max_overflow=-1,
    )
    event.listen(engine, "connect", _prepare)
    return SqlStore(engine, write="BEGIN IMMEDIATE", read="BEGIN")


def _prepare(connection: Any, _: object) -> None:
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()
