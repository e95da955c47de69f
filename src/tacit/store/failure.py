"""What a database's error means for the one who asked; its own words go no further.

An error of a driver may hold what was being written, so its text is for the operator, who finds
it as the cause of ours.
"""

from tacit.errors import Conflict, ConnectionLost, InternalError, StoreFailed, TacitError

UNIQUE = {1555, 2067, "23505"}
"""SQLite's codes of a key that is there already, and PostgreSQL's."""

AGAIN = {"40001", "40P01"}
"""PostgreSQL's codes of a transaction that lost to another."""

REFUSED = {"23502", "23514", "P0001"}
"""PostgreSQL's codes of a check or a trigger that said no: the second lock held."""

BUSY = {5, 6, "55P03", "57014"}
"""Somebody else wrote for longer than we wait."""

CONSTRAINT = 19
"""SQLite's code of a rule that would be broken, whichever."""

GONE = ("08", "57P")
"""How PostgreSQL's codes begin when it shuts down or cannot be spoken to."""

FATAL = {8, 10, 11, 13, 14, 26}
"""SQLite's codes of a disk that fails, fills up, or holds no database (any more)."""


def failure_of(error: Exception, *, lost: bool) -> TacitError:
    """Our error for the driver's ``error``; ``lost`` where the connection went with it.

    A disk that failed in the middle of a commit tells as little as a lost connection: SQLite
    finds a commit again whose sync failed, or does not.
    """
    code = _code(error)
    if code in UNIQUE or code in AGAIN:
        return Conflict("Another writer was first; nothing was written.")
    if lost or is_fatal(error) or str(code).startswith(GONE):
        return ConnectionLost(
            "The store's database went away; ask again with the same key to learn what it did."
        )
    if code in BUSY or _primary(error) in BUSY:
        return StoreFailed("The store is busy; nothing was written. Ask again.")
    if code in REFUSED or _primary(error) == CONSTRAINT:
        return InternalError("The store refused to break one of its rules.")
    return StoreFailed("The store could not be written; nothing may leave on its strength.")


def is_fatal(error: Exception) -> bool:
    """Whether the disk failed: a failed fsync must not be tried again, since it may then lie.

    Reference: the PostgreSQL developers' "fsyncgate" of 2018.
    """
    return _primary(error) in FATAL


def _primary(error: Exception) -> int:
    """SQLite's code without its finer part; 0 for other databases."""
    code: int = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code


def _code(error: Exception) -> int | str:
    code: int | str = (
        getattr(error, "sqlite_errorcode", None) or getattr(error, "sqlstate", None) or ""
    )
    return code
