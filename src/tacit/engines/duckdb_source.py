"""What DuckDB reads beside databases: a Parquet file, and a copy of a data frame."""

import re
from collections.abc import Mapping
from pathlib import Path

import duckdb

from tacit.engines.duckdb import TYPES, DuckDB, attach, quoted_name, quoted_text
from tacit.engines.physical_types import kinds
from tacit.errors import InvalidValue

WIDENED = {"VARCHAR": re.compile("ENUM.*"), "TIMESTAMP": re.compile("TIMESTAMP_(S|MS|NS)")}
"""Types that files and data frames have, and what they are read as: each value has one."""


def open_parquet(path: str, name: str, copies: Mapping[str, str] | None = None) -> DuckDB:
    """The engine over the Parquet file at ``path``, as the table ``name``.

    Guarantee: of all files, statements can read this one and those of its ordered ``copies``
    alone, and write none.
    """
    connection = duckdb.connect()
    try:
        show_parquet(connection, path, name)
        for database, file in (copies or {}).items():
            attach(connection, file, database)
    except InvalidValue:
        connection.close()
        raise
    return DuckDB(connection)


def show_parquet(connection: duckdb.DuckDBPyConnection, path: str, name: str) -> None:
    """Make ``name`` a view of a Parquet file, the one that may be read once all is locked."""
    refusal = f"{path} is no Parquet file that can be read."
    if not Path(path).is_file():
        raise InvalidValue(refusal)
    file = quoted_text(str(Path(path).absolute()))
    try:
        _widened(connection, "VIEW", name, f"read_parquet([{file}], hive_partitioning=false)")
        connection.execute(f"SET allowed_paths = [{file}]")
    except duckdb.Error as error:
        raise InvalidValue(refusal) from error


def open_frame(frame: object, name: str) -> DuckDB:
    """The engine over a copy of a pandas, Polars or Arrow table, called ``name``.

    Types follow from those of the columns, never from what stands in them.
    """
    connection = duckdb.connect()
    try:
        connection.execute(
            "SET pandas_analyze_sample = 0"
        )  # objects are text, and not looked at
        connection.register("given", frame)
        _widened(connection, "TABLE", name, "given")
        connection.unregister("given")
    except duckdb.Error as error:
        connection.close()
        raise InvalidValue(
            f"A {type(frame).__name__} is no table that DuckDB takes; give a pandas, Polars or "
            "Arrow table, or the path of a Parquet file."
        ) from error
    return DuckDB(connection)


def _widened(connection: duckdb.DuckDBPyConnection, what: str, name: str, source: str) -> None:
    """Make ``name`` of the columns of ``source`` whose types have a kind, or nearly."""
    found = connection.execute(f"SELECT * FROM {source} LIMIT 0").description  # noqa: S608
    types = {column: str(kind) for column, kind, *_ in found}
    read = {
        column: next((wide for wide, near in WIDENED.items() if near.fullmatch(kind)), kind)
        for column, kind in types.items()
    }
    asked = ", ".join(
        f"CAST({quoted_name(column.name)} AS {read[column.name]}) AS {quoted_name(column.name)}"
        for column in kinds(read, TYPES)
    )
    made = f"CREATE {what} {quoted_name(name)} AS SELECT {asked} FROM {source}"  # noqa: S608
    connection.execute(made)
