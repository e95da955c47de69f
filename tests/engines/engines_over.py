"""The engines that are held against the reference, each over tables that it is given.

An engine joins by one function here, which takes a catalogue and its tables and gives the
engine that holds them.
"""

import os
from collections.abc import Callable
from decimal import Decimal
from functools import cache

import duckdb
import pyspark
from postgres_over import postgres_over
from spark_over import spark_over
from table_text import written

from tacit.core.catalog import Catalog
from tacit.core.column import Kind
from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import Engine
from tacit.engines.joined import Tables
from tacit.engines.meaning import Cell
from tacit.engines.reference import Reference

Over = Callable[[Catalog, Tables], Engine]
"""The engine over some tables; what it held before is gone."""

DUCKDB_TYPES = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INTEGER: "BIGINT",
    Kind.DECIMAL: "DECIMAL(18,2)",
    Kind.FLOAT: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}


def reference(catalog: Catalog, tables: Tables) -> Engine:
    """The meaning itself."""
    del catalog
    return Reference(dict(tables))


@cache
def _duckdb() -> tuple[DuckDB, duckdb.DuckDBPyConnection]:
    """One database for all tables: to open one takes longer than to ask it."""
    connection = duckdb.connect(config={"threads": 1})
    return DuckDB(connection), connection


def duckdb_over(catalog: Catalog, tables: Tables) -> Engine:
    """DuckDB, in memory."""
    engine, connection = _duckdb()
    for dataset in catalog.tables:
        table, columns = written(dataset, DUCKDB_TYPES)
        connection.execute(f"CREATE OR REPLACE TABLE {table} ({', '.join(columns)})")
        rows = tables[dataset.location.table]
        if rows:
            one = f"({', '.join('?' for _ in columns)})"
            cells = [_given(row[name]) for row in rows for name in dataset.schema.names]
            many = ", ".join([one] * len(rows))
            connection.execute(f"INSERT INTO {table} VALUES {many}", cells)  # noqa: S608
    return engine


ALL: dict[str, Over] = {
    "duckdb": duckdb_over,
    "postgresql": postgres_over,
    "spark": spark_over,
}
ENGINES = {name: ALL[name] for name in os.environ.get("TACIT_ENGINES", " ".join(ALL)).split()}
"""All of them, or those that are named."""

VERSIONS = {
    "duckdb": f"DuckDB {duckdb.__version__}",
    "postgresql": "PostgreSQL",
    "spark": f"Spark {pyspark.__version__}",
}


def _given(cell: Cell) -> Cell:
    """Decimals as text, which is read to the last digit."""
    return format(cell, "f") if isinstance(cell, Decimal) else cell
