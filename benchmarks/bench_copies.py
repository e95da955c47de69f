"""What a validated copy costs: seconds and bytes to prepare it, beside one question without it.

``TACIT_ROWS`` are the numbers of rows, and ``TACIT_ENGINES`` the engines.
"""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import psycopg
import pytest
from conftest import Bar
from postgres_cluster import PostgresCluster
from spark_session import local

from tacit.core.catalog import Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.domain import Column, Kind, Schema
from tacit.engines.prepare import Preparation
from tacit.engines.print.postgres_dialect import POSTGRES
from tacit.engines.print.sql_dialects import DUCKDB, SPARK

SIZES = [int(float(size)) for size in os.environ.get("TACIT_ROWS", "1e6,1e7").split(",")]
DIALECTS = {each.name: each for each in (DUCKDB, POSTGRES, SPARK)}
ENGINES = os.environ.get("TACIT_ENGINES", "duckdb,postgres,spark").split(",")
MEGABYTE = 2**20
Run = Callable[[str], Sequence[Sequence[Any]]]

NUMBERS = {
    "duckdb": "range({rows}) AS s(n)",
    "postgres": "generate_series(0, {rows} - 1) AS s(n)",
    "spark": "(SELECT id AS n FROM range({rows}))",
}
TABLE = (
    "CREATE TABLE visits{how} AS SELECT CAST(n AS BIGINT) AS id, "
    "CAST(n % ({rows} / 5) AS BIGINT) AS person, CONCAT('ward ', n % 40) AS ward, "
    "CAST(n % 500 AS DOUBLE PRECISION) AS cost FROM "
)
QUESTION = (
    "SELECT ward, COUNT(*), SUM(few) FROM (SELECT person, ward, LEAST(COUNT(*), 3) AS few FROM "
    "visits GROUP BY person, ward) AS t GROUP BY ward"
)


def dataset(*, ordered: bool) -> Dataset:
    columns = {
        "id": Kind.INTEGER,
        "person": Kind.INTEGER,
        "ward": Kind.TEXT,
        "cost": Kind.FLOAT,
    }
    schema = Schema(tuple(Column(name, kind) for name, kind in columns.items()))
    limits = Limits(3, 3, 3 if ordered else None)
    where = Location("e", ("visits",))
    row_key = "id" if ordered else None
    return Dataset(
        "visits", "p", schema, UnitColumn("person"), limits, where, Epoch("1"), row_key
    )


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_copy_costs(
    engine: str, rows: int, tmp_path: Path, cluster: PostgresCluster, bar: Bar
) -> None:
    file = tmp_path / "visits.duckdb"
    if engine == "duckdb":
        connection = duckdb.connect(str(file))
        run: Run = lambda text: connection.execute(text).fetchall()  # noqa: E731
        where, how = "main", ""
    elif engine == "postgres":
        link = psycopg.connect(cluster.database(f"copies_{uuid4().hex}"), autocommit=True)

        def run(text: str) -> Sequence[Sequence[Any]]:
            cursor = link.execute(text.encode())
            return cursor.fetchall() if cursor.description else ()

        where, how = "public", ""
    else:
        run = lambda text: local().sql(text).collect()  # noqa: E731
        where, how = "default", " USING parquet"
        run("DROP TABLE IF EXISTS visits")
    double = TABLE if engine == "postgres" else TABLE.replace("DOUBLE PRECISION", "DOUBLE")
    run((double + NUMBERS[engine]).format(rows=rows, how=how))
    asked = timed(lambda: run(QUESTION))
    for ordered in (False, True):
        parts = 2 if ordered and engine != "spark" else 1
        making = Preparation(dataset(ordered=ordered), (where,), DIALECTS[engine], parts)
        before = stored(engine, run)
        seconds = timed(lambda making=making: list(making.steps(b"salt", run)))  # type: ignore[misc]
        size = (stored(engine, run) - before) / MEGABYTE
        making.drop(run)
        form = "ordered" if ordered else "plain"
        shown = f"{seconds:.1f} s, {size:.0f} MB; a question without it {asked:.2f} s"
        bar(f"copy of {rows:.0e} rows, {engine}, {form}", shown, "stated", True)
    run("DROP TABLE visits")
    if engine == "postgres":
        link.close()


def stored(engine: str, run: Run) -> float:
    """How many bytes the engine has on its disk."""
    if engine == "duckdb":
        run("CHECKPOINT")
        [(_, size, block, _, used, *_)] = run("CALL pragma_database_size()")
        del size
        return float(block * used)
    if engine == "postgres":
        return float(run("SELECT pg_database_size(current_database())")[0][0])
    place = Path(str(local().conf.get("spark.sql.warehouse.dir")).removeprefix("file:"))
    return float(sum(each.stat().st_size for each in place.rglob("*") if each.is_file()))
