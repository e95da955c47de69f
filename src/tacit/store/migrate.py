"""Bring a database to the tables of this version, once, however many processes ask for it."""

from threading import Lock

from sqlalchemy import Connection, inspect, text

from tacit.errors import StoreFailed
from tacit.extras import later

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
