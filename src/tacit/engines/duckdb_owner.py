"""DuckDB as the owner of the tables: to make and drop copies, and to look at own rows."""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from tacit.engines.duckdb import HELD, attach, quoted_name
from tacit.engines.duckdb_source import show_parquet, show_valid_parquet
from tacit.engines.prepare import Run
from tacit.engines.print.copy import facts_in
from tacit.engines.print.sql_dialects import DUCKDB
from tacit.errors import InvalidValue

OWN = 0o600
"""The mode of a file that its owner alone may read and write."""


@contextmanager
def duckdb_owner(
    path: str,
    where: tuple[str, ...],
    *,
    file: str | None,
    parquet: str | None,
    columns: Collection[str] | None = None,
) -> Iterator[Run]:
    """Runs statements over the database file at ``path``, or a Parquet file, as that table.

    The copy lies in the schema ``where``, which may be one of another database, in ``file``. Of
    a Parquet file only ``columns`` are copied; without any named, all.

    Guarantee: all of a copy is made, or nothing; nobody but the user who makes it may read
    ``file``, nor what DuckDB writes beside it.
    """
    connection = duckdb.connect()
    before = os.umask(0o077)

    def run(text: str) -> list[tuple[object, ...]]:
        try:
            return connection.execute(text).fetchall()
        except duckdb.Error as error:  # its words may hold a value
            raise InvalidValue(
                f"DuckDB failed over {path}, by a {type(error).__name__}; look at the names of "
                "the table and its columns, and at the room on the disk."
            ) from error

    try:
        if parquet is not None:
            show_valid_parquet(connection, path, parquet, columns)
        else:
            attach(connection, path, HELD, writes=file is None)
            connection.execute(f"USE {quoted_name(HELD)}")
        if file is not None:
            attach(connection, file, where[0], writes=True)
            Path(file).chmod(OWN)
        run("BEGIN TRANSACTION")
        run(f"CREATE SCHEMA IF NOT EXISTS {'.'.join(map(quoted_name, where))}")
        yield run
        run("COMMIT")
    finally:
        connection.close()
        os.umask(before)


def facts_beside(file: str, record: tuple[str, ...]) -> tuple[str, ...]:
    """What is written beside the copy in ``file``; nothing where that cannot be read."""
    connection = duckdb.connect()
    try:
        attach(connection, file, HELD)
        found = connection.execute(facts_in((HELD, *record), DUCKDB)).fetchall()
    except (duckdb.Error, InvalidValue):
        return ()
    finally:
        connection.close()
    return tuple(str(fact) for (fact,) in found)


def one_row_each(  # noqa: PLR0913 - a table, whose rows, and what of them
    path: str,
    table: tuple[str, ...],
    unit: str,
    columns: Sequence[str],
    *,
    parquet: str | None,
    most: int,
) -> list[tuple[str, ...]]:
    """One row of each of ``most`` units, as text, their own name first: for their owner."""
    connection = duckdb.connect()
    shown = ", ".join(
        f"COALESCE(CAST(MIN({quoted_name(name)}) AS VARCHAR), '')" for name in columns
    )
    names = f"CAST({quoted_name(unit)} AS VARCHAR)"
    where = ".".join(map(quoted_name, table))
    text = (
        f"SELECT {names}, {shown} FROM {where} "  # noqa: S608 - names are quoted
        f"WHERE {quoted_name(unit)} IS NOT NULL GROUP BY 1 ORDER BY hash({names}) LIMIT {most}"
    )
    try:
        if parquet is not None:
            show_parquet(connection, path, parquet, {unit, *columns})
        else:
            attach(connection, path, HELD)
            connection.execute(f"USE {quoted_name(HELD)}")
        return connection.execute(text).fetchall()
    except duckdb.Error as error:
        raise InvalidValue(
            f"DuckDB failed over {path}, by a {type(error).__name__}; look at the names of the "
            "table and its columns."
        ) from error
    finally:
        connection.close()
