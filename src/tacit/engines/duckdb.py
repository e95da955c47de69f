"""DuckDB: Parquet files and tables on one machine, in this process."""

import re
from collections.abc import Iterable
from pathlib import Path

import duckdb

from tacit.core.catalog import Catalog
from tacit.core.column import Column, Kind
from tacit.engines.engine import SecretTable, boxed
from tacit.engines.physical_types import Types, check_types, kinds
from tacit.engines.print.join import columns, everything
from tacit.engines.print.question import question
from tacit.errors import InternalError, InvalidValue
from tacit.plan.bounded import BoundedPlan

LOCKS = (
    "SET enable_external_access = false",
    "SET autoload_known_extensions = false",
    "SET autoinstall_known_extensions = false",
    "SET lock_configuration = true",
)
"""No file, no network, no extension and no setting can be reached from a statement."""

WIDENED = {"VARCHAR": re.compile("ENUM.*"), "TIMESTAMP": re.compile("TIMESTAMP_(S|MS|NS)")}
"""Types that files and data frames have, and what they are read as: each value has one."""

TYPES: Types = {
    Kind.BOOLEAN: re.compile("BOOLEAN"),
    Kind.INTEGER: re.compile("U?(TINYINT|SMALLINT|INTEGER|BIGINT)|HUGEINT"),
    Kind.DECIMAL: re.compile(r"DECIMAL\((?P<digits>\d+),(?P<after>\d+)\)"),
    Kind.FLOAT: re.compile("FLOAT|DOUBLE"),
    Kind.TEXT: re.compile("VARCHAR"),
    Kind.DATE: re.compile("DATE"),
    Kind.TIMESTAMP: re.compile("TIMESTAMP"),
}
"""Not UHUGEINT, whose values do not fit beside a negative number; no labels, no time zones."""


class DuckDB:
    """An engine over an open DuckDB database, which it locks.

    Guarantee: only statements that `tacit.engines.print` made are run, one cursor each; what
    goes wrong has one text, since DuckDB's own may hold a value of a row.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, database: str | None = None
    ) -> None:
        self._connection = connection
        self._database = database
        for lock in LOCKS:
            connection.execute(lock)

    def check(self, catalog: Catalog) -> None:
        """Refuse a catalogue whose tables are not there, or of other types; no row is read."""
        for dataset in catalog.tables:
            with self._cursor() as cursor:
                try:
                    cursor.execute(columns(dataset.name, catalog, dialect="duckdb"))
                except duckdb.Error as error:
                    raise InvalidValue(
                        f"{dataset.name!r} has no table here with the columns declared."
                    ) from error
                types = [str(kind) for _, kind, *_ in cursor.description]
            check_types(dataset, dict(zip(dataset.schema.names, types, strict=True)), TYPES)

    def columns(self, table: tuple[str, ...]) -> tuple[Column, ...]:
        """The columns of a table that can be asked about, by their types; no row is read."""
        try:
            with self._cursor() as cursor:
                cursor.execute(everything(table, dialect="duckdb"))
                types = {name: str(kind) for name, kind, *_ in cursor.description}
        except duckdb.Error as error:
            raise InvalidValue(f"There is no table {'.'.join(table)!r} here.") from error
        return kinds(types, TYPES)

    def close(self) -> None:
        """Let go of the database, and of what was copied into memory."""
        self._connection.close()

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        """The secret answer to ``plan``."""
        text = question(plan, catalog, salt, dialect="duckdb")
        try:
            with self._cursor() as cursor:
                found = cursor.execute(text).fetchall()
        except duckdb.Error as error:
            raise InternalError("The engine failed.") from error
        return boxed(plan, found)

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor, which begins in the database of the connection, and not where that is."""
        cursor = self._connection.cursor()
        if self._database is not None:
            cursor.execute(f"USE {_name(self._database)}")
        return cursor


def open_duckdb(path: str) -> DuckDB:
    """The engine over the database file at ``path``, which it only reads.

    It is attached, since DuckDB opens a file but once in a process where settings differ.
    """
    connection = duckdb.connect()
    try:
        connection.execute(f"ATTACH {_quoted(path)} AS held (READ_ONLY)")
        return DuckDB(connection, database="held")
    except duckdb.Error as error:
        connection.close()
        raise InvalidValue(f"{path} is no DuckDB database that can be read.") from error


def make_duckdb(path: str, statements: Iterable[str]) -> None:
    """Make a database file by ``statements``, which are ours."""
    with duckdb.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)


def open_parquet(path: str, name: str) -> DuckDB:
    """The engine over the Parquet file at ``path``, as the table ``name``.

    Guarantee: of all files, statements can read this one alone, and write none.
    """
    refusal = f"{path} is no Parquet file that can be read."
    if not Path(path).is_file():
        raise InvalidValue(refusal)
    file = _quoted(str(Path(path).absolute()))
    connection = duckdb.connect()
    try:
        _widened(connection, "VIEW", name, f"read_parquet([{file}], hive_partitioning=false)")
        connection.execute(f"SET allowed_paths = [{file}]")
    except duckdb.Error as error:
        connection.close()
        raise InvalidValue(refusal) from error
    return DuckDB(connection)


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
        f"CAST({_name(column.name)} AS {read[column.name]}) AS {_name(column.name)}"
        for column in kinds(read, TYPES)
    )
    made = f"CREATE {what} {_name(name)} AS SELECT {asked} FROM {source}"  # noqa: S608
    connection.execute(made)


def _name(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
