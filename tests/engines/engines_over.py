"""The engines that are held against the reference, each over tables that it is given.

An engine joins by one function here, which takes a catalogue and its tables and gives the
engine that holds them.
"""

import os
from functools import cache

import duckdb
import pyspark
from postgres_over import postgres_over
from spark_over import spark_over

from tacit.audit.question_audit import Over
from tacit.core.catalog import Catalog
from tacit.engines.engine import Engine
from tacit.engines.reference import Reference, Tables
from tacit.engines.synthetic_duckdb import SyntheticDuckDB


def reference(catalog: Catalog, tables: Tables) -> Engine:
    """The meaning itself."""
    del catalog
    return Reference(dict(tables))


@cache
def _duckdb() -> SyntheticDuckDB:
    return SyntheticDuckDB()


def duckdb_over(catalog: Catalog, tables: Tables) -> Engine:
    """DuckDB, in memory."""
    return _duckdb().over(catalog, tables)


__all__ = ["ENGINES", "VERSIONS", "Over", "duckdb_over", "reference"]

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
