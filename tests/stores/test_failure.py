"""What a database's error means, and that its own words go no further."""

import sqlite3

import psycopg
import pytest

from tacit.errors import (
    Conflict,
    ConnectionLost,
    InternalError,
    StoreFailed,
    TacitError,
)
from tacit.store.unit_of_work import failure_of, is_fatal

CELL = "patient 17 has it"


def sqlite_error(*statements: str) -> sqlite3.Error:
    """A real error of a real database."""
    connection = sqlite3.connect(":memory:")
    try:
        for statement in statements:
            connection.execute(statement)
    except sqlite3.Error as error:
        return error
    finally:
        connection.close()
    raise AssertionError("these statements are fine")


TABLE = "CREATE TABLE t (a TEXT PRIMARY KEY NOT NULL CHECK (a <> 'no'), b TEXT UNIQUE)"
ONE = "INSERT INTO t VALUES ('a', 'b')"
CASES: dict[str, tuple[Exception, type[TacitError]]] = {
    "the same key": (sqlite_error(TABLE, ONE, "INSERT INTO t VALUES ('a', 'c')"), Conflict),
    "a unique column": (sqlite_error(TABLE, ONE, "INSERT INTO t VALUES ('c', 'b')"), Conflict),
    "a check": (sqlite_error(TABLE, "INSERT INTO t VALUES ('no', 'b')"), InternalError),
    "no value": (sqlite_error(TABLE, "INSERT INTO t VALUES (NULL, 'b')"), InternalError),
    "no table": (sqlite_error("SELECT * FROM nobody"), StoreFailed),
    "postgresql: the same key": (psycopg.errors.UniqueViolation(CELL), Conflict),
    "postgresql: a deadlock": (psycopg.errors.DeadlockDetected(CELL), Conflict),
    "postgresql: a lost race": (psycopg.errors.SerializationFailure(CELL), Conflict),
    "postgresql: a check": (psycopg.errors.CheckViolation(CELL), InternalError),
    "postgresql: a trigger": (psycopg.errors.RaiseException(CELL), InternalError),
    "postgresql: a long wait": (psycopg.errors.LockNotAvailable(CELL), StoreFailed),
    "postgresql: no table": (psycopg.errors.UndefinedTable(CELL), StoreFailed),
}


@pytest.mark.parametrize("what", CASES)
def test_an_error_of_a_database_is_one_of_ours(what: str) -> None:
    error, kind = CASES[what]
    ours = failure_of(error, lost=False)
    assert type(ours) is kind
    assert CELL not in str(ours)
    assert str(error) not in str(ours)
    assert not is_fatal(error)


def test_who_lost_the_connection_does_not_know_what_was_done() -> None:
    unknown = psycopg.OperationalError(CELL)  # the driver's own, without a code of the server
    assert type(failure_of(unknown, lost=True)) is ConnectionLost
    assert type(failure_of(unknown, lost=False)) is StoreFailed
    shut_down = psycopg.errors.AdminShutdown(CELL)
    assert type(failure_of(shut_down, lost=False)) is ConnectionLost
    # a refusal that arrived is a refusal, even if it was the last that arrived
    assert type(failure_of(psycopg.errors.UniqueViolation(CELL), lost=True)) is Conflict


def test_a_busy_store_says_so() -> None:
    assert "busy" in str(failure_of(psycopg.errors.QueryCanceled(CELL), lost=False))
    assert "busy" not in str(failure_of(psycopg.errors.UndefinedTable(CELL), lost=False))


def test_a_disk_that_fails_is_fatal() -> None:
    full = sqlite_error(
        "PRAGMA max_page_count=1", "CREATE TABLE a (b)", "INSERT INTO a VALUES (zeroblob(9999))"
    )
    assert full.sqlite_errorcode == sqlite3.SQLITE_FULL
    assert is_fatal(full)
    assert type(failure_of(full, lost=False)) is ConnectionLost
    failed_sync = sqlite3.OperationalError(CELL)
    failed_sync.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
    assert is_fatal(failed_sync)
    failed_sync.sqlite_errorcode = sqlite3.SQLITE_BUSY_SNAPSHOT
    assert not is_fatal(failed_sync)
