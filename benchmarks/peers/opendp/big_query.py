"""Count, sum and mean of unknown groups with OpenDP on Polars, and print one JSON object.

Usage: big_query.py FOLDER ROWS_OF_A_PERSON REPEATS. The folder is one that
``benchmarks/big_table.py`` wrote. The answer holds ``seconds`` and ``cpu_seconds``, medians
after loading, of ``opendp`` and, taken in turn with it, of the bare query on Polars
(``bare_polars``) and DuckDB (``bare_duckdb``). The mean is the quotient of what is released.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median

import duckdb
import opendp.prelude as dp
import polars as pl

LOW, HIGH = 0.0, 100.0
EPSILON, DELTA = 1.0, 1e-6
MOST_ROWS, MOST_GROUPS = 10**9, 10**6
"""What an owner would declare of the table: no more than this."""


def private(table: pl.DataFrame, rows_of_a_person: int) -> pl.DataFrame:
    """Groups whose noisy counts pass a threshold, with their count, sum and mean."""
    context = dp.Context.compositor(
        data=table.lazy(),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("person")),
        privacy_loss=dp.loss_of(epsilon=EPSILON, delta=DELTA),
        split_evenly_over=1,
        margins=[
            dp.polars.Margin(max_length=MOST_ROWS),
            dp.polars.Margin(by=["g"], max_groups=MOST_GROUPS, max_length=MOST_ROWS),
        ],
    )
    value = pl.col("v").fill_null(0.0).fill_nan(0.0)
    released = (
        context.query()
        .truncate_per_group(rows_of_a_person)
        .group_by("g")
        .agg(dp.len(signed=False), value.dp.sum((LOW, HIGH)))
        .release()
        .collect()
    )
    return released.with_columns(mean=pl.col("v") / pl.col("len"))


def bare_polars(table: pl.DataFrame) -> pl.DataFrame:
    value = pl.col("v").clip(LOW, HIGH)
    wanted = [pl.len(), value.sum().alias("sum"), value.mean().alias("mean")]
    return table.lazy().group_by("g").agg(*wanted).collect()


def bare_duckdb(files: str) -> list:
    value = f"LEAST(GREATEST(v, {LOW}), {HIGH})"
    text = f"SELECT g, COUNT(*), SUM({value}), AVG({value}) FROM '{files}' GROUP BY g"  # noqa: S608
    return duckdb.sql(text).fetchall()


def seconds(answer: Callable[[], object]) -> tuple[float, float]:
    """By the clock, and of all processors together: others may want them too."""
    began, busy = time.perf_counter(), time.process_time()
    answer()
    return time.perf_counter() - began, time.process_time() - busy


def main() -> None:
    dp.enable_features("contrib")
    folder, rows_of_a_person, repeats = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    files = f"{folder}/*.parquet"
    table = pl.read_parquet(files, columns=["person", "g", "v"])
    ways = {
        "opendp": lambda: private(table, rows_of_a_person),
        "bare_polars": lambda: bare_polars(table),
        "bare_duckdb": lambda: bare_duckdb(files),
    }
    groups = {name: len(way()) for name, way in ways.items()}  # and everything is warm
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            times[name].append(seconds(way))
    answer: dict[str, object] = {"peer": "opendp", "version": version("opendp")}
    answer |= {"rows": table.height, "groups": groups["opendp"]}
    for place, called in enumerate(("seconds", "cpu_seconds")):
        answer[called] = {
            name: median(one[place] for one in found) for name, found in times.items()
        }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
