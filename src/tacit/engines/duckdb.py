"""DuckDB: Parquet files and tables on one machine, in this process."""

import re
from typing import Any

import duckdb

from tacit.core.catalog import Catalog
from tacit.core.column import Kind
from tacit.engines.ask import ask
from tacit.engines.engine import SecretTable
from tacit.engines.physical_types import Types, check_types
from tacit.engines.print.join import columns
from tacit.errors import InternalError, InvalidValue
from tacit.plan.bounded import BoundedPlan

LOCKS = (
    "SET enable_external_access = false",
    "SET autoload_known_extensions = false",
    "SET autoinstall_known_extensions = false",
    # it turns the bound into heaps of lists: twice the time, three times the memory
    "SET disabled_optimizers = 'top_n_window_elimination'",
    "SET lock_configuration = true",
)
"""No file, no network, no extension and no setting can be reached from a statement."""

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

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        for lock in LOCKS:
            connection.execute(lock)

    def check(self, catalog: Catalog) -> None:
        """Refuse a catalogue whose tables are not there, or of other types; no row is read."""
        for dataset in catalog.tables:
            with self._connection.cursor() as cursor:
                try:
                    cursor.execute(columns(dataset.name, catalog, dialect="duckdb"))
                except duckdb.Error as error:
                    raise InvalidValue(
                        f"{dataset.name!r} has no table here with the columns declared."
                    ) from error
                types = [str(kind) for _, kind, *_ in cursor.description]
            check_types(dataset, dict(zip(dataset.schema.names, types, strict=True)), TYPES)

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        """The secret answer to ``plan``."""
        return ask(plan, catalog, salt, "duckdb", self._found)

    def _found(self, text: str) -> list[Any]:
        with self._connection.cursor() as cursor:
            try:
                return cursor.execute(text).fetchall()
            except duckdb.Error as error:
                raise InternalError("The engine failed.") from error


def open_duckdb(path: str) -> DuckDB:
    """The engine over the database file at ``path``, which it only reads."""
    return DuckDB(duckdb.connect(path, read_only=True))
