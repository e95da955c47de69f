"""PostgreSQL as the owner of the tables: to make and drop copies, and nothing else."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from tacit.engines.postgres import SETTINGS
from tacit.engines.postgres_role import QUIET, quoted
from tacit.engines.prepare import Run
from tacit.errors import InvalidValue

OURS = {
    **{name: value for name, value in SETTINGS.items() if "read_only" not in name},
    # whether a copy lies in order is asked of a scan as it lies
    "max_parallel_workers_per_gather": "0",
}


@contextmanager
def postgres_owner(address: str, schema: str) -> Iterator[Run]:
    """Runs statements by ``address``, in one transaction: all of a copy is made, or nothing.

    Guarantee: none of them comes into the server's log, since they hold the salt.
    """
    options = " ".join(f"-c {name}={value}" for name, value in OURS.items())

    def run(text: str) -> list[tuple[Any, ...]]:
        cursor = connection.execute(text.encode())
        return cursor.fetchall() if cursor.description else []

    try:
        with psycopg.connect(address, options=options, connect_timeout=10) as connection:
            _hush(connection)
            found = connection.execute(
                "SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)
            )
            if found.fetchone() is None:
                connection.execute(f"CREATE SCHEMA {quoted(schema)}".encode())
            yield run
    except psycopg.Error as error:  # its words may hold a value
        raise InvalidValue(
            f"PostgreSQL failed, by a {type(error).__name__}; look at the owner's address, and "
            "that it may read the table, and create tables where the copy shall lie."
        ) from error


def _hush(connection: psycopg.Connection[Any]) -> None:
    """Set what would log statements to silence, or refuse."""
    for setting, quiet in QUIET.items():
        asked = connection.execute("SELECT current_setting(%s, true)", (setting,))
        [found] = asked.fetchone() or [None]
        if found is None or found == quiet:
            continue
        try:
            with connection.transaction():
                connection.execute("SELECT set_config(%s, %s, false)", (setting, quiet))
        except psycopg.errors.InsufficientPrivilege:
            raise InvalidValue(
                f"The server would log how the copy is made: {setting} is {found}. As a "
                f"superuser, for the owner's role: ALTER ROLE ... SET {setting} = '{quiet}'."
            ) from None
