"""Hostile stores in Parquet files, which DuckDB or Spark reads."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import spark_session
from hostile_duckdb import ONE_THREAD, Unlocked, owner_of, small_tables
from hostile_side import Side, hundredths, labs_of, number_of, texts
from hostile_store import LABS, PLACES, VISITS, WHERE, Cells, Store

from tacit.core.domain import Kind
from tacit.engines.duckdb_files import show_parquet
from tacit.engines.print.sql_dialects import DUCKDB, SPARK
from tacit.engines.spark import Spark
from tacit.errors import InvalidValue

EPOCH_DAYS = {"2020-02-29": 18321, "0001-01-01": -719162, "9999-12-31": 2932896}
MOMENTS = {"2020-02-29 00:00:00": 1582934400, "2020-02-28 23:59:59.999999": 1582934399}
PER_SECOND = {"us": 10**6, "ms": 10**3, "ns": 10**9}


def parquet_table(store: Store, rows: Sequence[Cells]) -> pa.Table:
    """Rows as a writer of Parquet takes them, without a look at what they hold."""
    units = ("us", "ms") if store.engine == "spark" else ("us", "us", "us", "ns", "ms")
    unit = units[store.number % len(units)]
    columns: dict[str, Any] = {}
    for column in VISITS:
        values = [row[column.name] for row in rows]
        match column.kind:
            case Kind.TEXT:
                columns[column.name] = texts(values)
            case Kind.DECIMAL:
                columns[column.name] = hundredths(values)
            case Kind.DATE:
                days = [EPOCH_DAYS.get(v, v) for v in values]
                columns[column.name] = pa.array(days, pa.int32()).cast(pa.date32())
            case Kind.TIMESTAMP:
                per = PER_SECOND[unit]
                moments = [MOMENTS[v] * per if v in MOMENTS else v for v in values]
                columns[column.name] = pa.array(moments, pa.int64()).cast(pa.timestamp(unit))
            case Kind.FLOAT:
                columns[column.name] = pa.array(values, pa.float64())
            case Kind.BOOLEAN:
                columns[column.name] = pa.array(values, pa.bool_())
            case _:
                whole = map(number_of, values) if column.name == "score" else values
                columns[column.name] = pa.array(list(whole), pa.int64())
    return pa.table(columns)


def write_parquet(store: Store, rows: Sequence[Cells], path: Path) -> None:
    """A file, whose columns are encoded in ways of their own."""
    encoded = [name for name, variant in store.variants.items() if variant == "dictionary"]
    small = store.kept == "small pages"
    pq.write_table(
        parquet_table(store, rows),
        path,
        use_dictionary=encoded or False,
        row_group_size=4 if small else None,
        data_page_size=16 if small else None,
        dictionary_pagesize_limit=16 if small else None,
    )


def write_files(store: Store, rows: Sequence[Cells], folder: Path) -> None:
    """A folder of files: in one, the writer gave scores that have gaps as floats."""
    folder.mkdir()
    gaps = [row for row in rows if store.kept == "other types" and row["score"] == b"n/a"]
    whole = [row for row in rows if row not in gaps]
    write_parquet(store, whole, folder / "0.parquet")
    if gaps:
        made = parquet_table(store, gaps)
        place = made.column_names.index("score")
        floats = made.column("score").cast(pa.float64())
        pq.write_table(made.set_column(place, "score", floats), folder / "1.parquet")


@contextmanager
def parquet_side(store: Store, place: int) -> Iterator[Side]:
    """A file, and small tables in memory."""
    rows = (store.before, store.after)[place]
    with (
        duckdb.connect(config=ONE_THREAD) as link,
        TemporaryDirectory(prefix="tacit-store-") as folder,
    ):
        path = Path(folder) / "visits.parquet"
        write_parquet(store, rows, path)
        show_parquet(link, str(path), "visits")
        small_tables(link, rows, "")
        yield Side(Unlocked(link), owner_of(link), DUCKDB, "main")


ON_SPARK = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INTEGER: "BIGINT",
    Kind.DECIMAL: "DECIMAL(18, 2)",
    Kind.FLOAT: "DOUBLE",
    Kind.TEXT: "STRING",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP_NTZ",
}


@contextmanager
def spark_side(store: Store, place: int) -> Iterator[Side]:
    """Files that a session of its own shows; copies lie in a database of the side's own."""
    rows = (store.before, store.after)[place]
    engine = Spark(spark_session.local())
    session: Any = engine._session
    with TemporaryDirectory(prefix="tacit-store-") as name:
        folder = Path(name)
        write_files(store, rows, folder / "visits.parquet")
        labs, small = labs_of(rows), {"labs": LABS, "places": PLACES}
        tables = {
            "labs": {
                "of": texts([lab["of"] for lab in labs]),
                "value": pa.array([lab["value"] for lab in labs], pa.int64()),
            },
            "places": {each.name: texts([row[each.name] for row in WHERE]) for each in PLACES},
        }
        for table, columns in tables.items():
            pq.write_table(pa.table(columns), folder / f"{table}.parquet")
        for table, declared in {"visits": VISITS, **small}.items():
            types = ", ".join(f"`{each.name}` {ON_SPARK[each.kind]}" for each in declared)
            shown_by = session.read.schema(types).parquet(str(folder / f"{table}.parquet"))
            shown_by.createOrReplaceTempView(table)
        session.sql(f"CREATE DATABASE IF NOT EXISTS side_{place}")

        def run(text: str) -> Sequence[Sequence[Any]]:
            try:
                found: Sequence[Sequence[Any]] = session.sql(text).collect()
            except Exception as error:
                raise InvalidValue("The owner's statement failed.") from error
            return found

        yield Side(engine, run, SPARK, f"side_{place}")
