"""Spark over tables that it is given, as Parquet files."""

from functools import cache
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from spark_session import folder, local

from tacit.core.catalog import Catalog, Dataset, PublicTable
from tacit.core.domain import Kind
from tacit.engines.engine import Engine
from tacit.engines.reference import Row, Tables
from tacit.engines.spark import Spark

TYPES = {
    Kind.BOOLEAN: ("BOOLEAN", pa.bool_()),
    Kind.INTEGER: ("BIGINT", pa.int64()),
    Kind.DECIMAL: ("DECIMAL(18, 2)", pa.decimal128(18, 2)),
    Kind.FLOAT: ("DOUBLE", pa.float64()),
    Kind.TEXT: ("STRING", pa.string()),
    Kind.DATE: ("DATE", pa.date32()),
    Kind.TIMESTAMP: ("TIMESTAMP_NTZ", pa.timestamp("us")),
}
NUMBERS = count()


@cache
def _spark() -> Spark:
    return Spark(local())


def spark_over(catalog: Catalog, tables: Tables) -> Engine:
    """Spark, in this machine's own process for it."""
    engine = _spark()
    show(engine._session, catalog, tables)
    return engine


def spark_tables_over(catalog: Catalog, tables: Tables) -> Engine:
    """Spark over tables that it lists; temporary views are faster to make."""
    engine = _spark()
    for table in catalog.tables:
        name = quoted(*table.location.table)
        engine._session.catalog.dropTempView(table.location.table[-1])
        engine._session.sql(f"DROP TABLE IF EXISTS {name}")
        types = ", ".join(
            f"{quoted(each.name)} {TYPES[each.kind][0]}" for each in table.schema.columns
        )
        path = file(table, tables[table.location.table])
        engine._session.sql(f"CREATE TABLE {name} ({types}) USING parquet LOCATION '{path}'")
    return engine


def show(session: SparkSession, catalog: Catalog, tables: Tables) -> None:
    """Lay the tables before a session, in files that its workers read."""
    for table in catalog.tables:
        columns = table.schema.columns
        path = file(table, tables[table.location.table])
        types = ", ".join(f"{quoted(each.name)} {TYPES[each.kind][0]}" for each in columns)
        found = session.read.schema(types).parquet(str(path))
        found.createOrReplaceTempView(quoted(*table.location.table))


def file(table: Dataset | PublicTable, rows: list[Row]) -> Path:
    """A new Parquet file with these rows."""
    columns = {
        each.name: pa.array([row[each.name] for row in rows], TYPES[each.kind][1])
        for each in table.schema.columns
    }
    path = folder() / f"{next(NUMBERS)}.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def quoted(*names: str) -> str:
    """A name as it stands in a statement of Spark."""
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)
