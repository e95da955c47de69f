"""What a private answer costs beside the bare engine's own, in one run and in turns.

Ten million rows of a million people in a thousand groups; count, sum and mean of groups that
are selected, with noise. At most three rows of a person are looked at, each in its own group.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import duckdb
import psycopg
import pytest
from big_table import big_table
from conftest import Bar, Peer
from postgres_cluster import PostgresCluster
from pyspark.sql import SparkSession
from trips import SALT, TEXT, Case, trips

from tacit.core.catalog import Dataset, Limits
from tacit.engines.duckdb import DuckDB
from tacit.engines.postgres import Postgres
from tacit.engines.prepare import Preparation
from tacit.engines.print.postgres_dialect import POSTGRES
from tacit.engines.print.sql_dialects import DUCKDB, SPARK
from tacit.engines.spark import Spark

ROWS = int(float(os.environ.get("TACIT_ROWS", "1e7")))


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database of the owner's, with views of the files, and room for copies."""
    place = tmp_path_factory.mktemp("bench")
    connection = duckdb.connect(str(place / "owner.duckdb"))
    connection.execute("SET threads = 2")
    folders = [f"'{place}/'"]
    for name, alone in (("trips", False), ("pieces", True)):
        folder = big_table(ROWS, alone=alone)
        connection.execute(f"CREATE VIEW {name} AS FROM '{folder}/*.parquet'")
        folders.append(f"'{folder}/'")
    # the statistics of one file tell DuckDB that nobody is NULL; those of many, it does not ask
    file = place / "alone.parquet"
    connection.execute(f"COPY pieces TO '{file}' (FORMAT parquet, COMPRESSION zstd)")
    connection.execute(f"CREATE VIEW alone AS FROM '{file}'")
    connection.execute(f"SET allowed_directories = [{', '.join(folders)}]")
    yield connection
    connection.close()


def bare_duckdb(database: duckdb.DuckDBPyConnection, table: str) -> Callable[[], object]:
    text = TEXT.replace("FROM trips", f"FROM {table}")
    return lambda: database.cursor().execute(text).fetchall()


@pytest.fixture(scope="module")
def prepared(database: duckdb.DuckDBPyConnection) -> tuple[DuckDB, Dataset, float]:
    """The engine, locked, the dataset with its copy, and the seconds that making it took."""
    making = Preparation(trips(), ("main",), DUCKDB)
    began = perf_counter()
    for _ in making.steps(SALT, lambda text: database.execute(text).fetchall()):
        pass
    return DuckDB(database), making.prepared, perf_counter() - began


def test_duckdb(
    database: duckdb.DuckDBPyConnection, prepared: tuple[DuckDB, Dataset, float], bar: Bar
) -> None:
    engine, copied, made = prepared
    bare = bare_duckdb(database, "trips")
    alone, pieces = (
        Case(engine, trips(table=table, one_row=True), bare_duckdb(database, table))
        for table in ("alone", "pieces")
    )
    cases = {
        "units with one row": (alone, 1.3),
        "prepared": (Case(engine, copied, bare), 2.0),
        "unprepared": (Case(engine, trips(), bare), 8.0),
    }
    for name, (case, most) in cases.items():
        ratio, ours, theirs = case.ratio()
        shown = f"{ratio:.2f} ({ours:.2f} s beside {theirs:.2f} s)"
        bar(f"DuckDB, {name}, beside bare", shown, f"<= {most}", ratio <= most)
    ratio, ours, _ = pieces.ratio()
    bar("DuckDB, one row, ten files", f"{ratio:.2f} ({ours:.2f} s)", "stated", True)
    grouped = Case(engine, trips(limits=Limits(max_groups=3, max_rows=1)), bare)
    ratio, ours, theirs = grouped.ratio(1)
    bar("DuckDB, all rows grouped", f"{ratio:.1f} ({ours:.2f} s)", "stated", True)
    bar("DuckDB, seconds to prepare", made, "stated", True)


def test_opendp_takes_longer(
    database: duckdb.DuckDBPyConnection,
    prepared: tuple[DuckDB, Dataset, float],
    peer: Peer,
    bar: Bar,
) -> None:
    engine, copied, _ = prepared
    _, ours, _ = Case(engine, copied, bare_duckdb(database, "trips")).ratio()
    theirs = peer("opendp", big_table(ROWS), 3, 3, script="big_query.py")
    seconds = theirs["seconds"]["opendp"]
    shown = f"{seconds / ours:.1f} ({seconds:.1f} s beside {ours:.2f} s)"
    bar("OpenDP on Polars, beside prepared DuckDB", shown, ">= 7", seconds >= 7 * ours)


def test_postgresql(tmp_path: Path, cluster: PostgresCluster, bar: Bar) -> None:
    address = cluster.database("trips")
    files, text = f"{big_table(ROWS)}/*.parquet", tmp_path / "trips.csv"
    rows = f"SELECT row_id, person, g, v FROM '{files}'"  # noqa: S608 - our own names
    duckdb.sql(f"COPY ({rows}) TO '{text}' (HEADER false)")
    with psycopg.connect(address, autocommit=True) as owner:
        columns = "row_id bigint, person bigint, g integer, v double precision"
        owner.execute(f"CREATE UNLOGGED TABLE trips ({columns})")
        with (
            owner.cursor().copy("COPY trips FROM STDIN (FORMAT csv)") as copy,
            text.open() as rows,
        ):
            while block := rows.read(2**20):
                copy.write(block)
        owner.execute("VACUUM ANALYZE trips")

        def run(statement: str) -> list[Any]:
            done = owner.execute(statement.encode())
            return done.fetchall() if done.description else []

        making = Preparation(trips(), ("public",), POSTGRES, parts=1)
        for _ in making.steps(SALT, run):
            pass
        owner.execute("VACUUM ANALYZE tacit_trips_0")
        engine = Postgres(address)
        ratio, ours, theirs = Case(engine, making.prepared, lambda: run(TEXT)).ratio(3)
        shown = f"{ratio:.2f} ({ours:.2f} s beside {theirs:.2f} s)"
        bar("PostgreSQL, prepared, beside bare", shown, "<= 3", ratio <= 3)
        ratio, ours, _ = Case(engine, trips(), lambda: run(TEXT)).ratio(1)
        bar("PostgreSQL, unprepared", f"{ratio:.1f} ({ours:.1f} s)", "stated", True)


def test_spark(tmp_path: Path, bar: Bar) -> None:
    made = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "6g",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
    }
    for name, value in settings.items():
        made = made.config(name, value)
    owner = made.getOrCreate()
    owner.sparkContext.setLogLevel("OFF")
    engine = Spark(owner)
    session = engine._session
    session.read.parquet(str(big_table(ROWS))).createOrReplaceTempView("trips")

    def run(statement: str) -> list[Any]:
        return session.sql(statement).collect()

    making = Preparation(trips(), ("default",), SPARK, parts=1)
    for _ in making.steps(SALT, run):
        pass
    for name, dataset, most in (("prepared", making.prepared, 4), ("unprepared", trips(), 12)):
        ratio, ours, theirs = Case(engine, dataset, lambda: run(TEXT)).ratio(3)
        shown = f"{ratio:.2f} ({ours:.2f} s beside {theirs:.2f} s)"
        bar(f"Spark, {name}, beside bare", shown, f"<= {most}", ratio <= most)
    owner.stop()
