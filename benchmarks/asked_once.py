"""Ask one question of one table, beside the bare engine, and print what it took as JSON.

    python benchmarks/asked_once.py FOLDER 1e7 prepared g

The folder keeps the database, so that the next form finds it.
"""

import json
import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from time import perf_counter

import duckdb
from big_table import big_table
from trips import SALT, TEXT, Case, trips

from tacit.engines.duckdb import DuckDB
from tacit.engines.prepare import Preparation
from tacit.engines.print.sql_dialects import DUCKDB

MEMORY = "4GiB"
"""What DuckDB is given; what is more, it writes to its own files for the while."""


def main(place: str, rows: str, form: str, column: str) -> None:
    """One case, from its table on."""
    count = int(float(rows))
    folder = big_table(count)
    connection = duckdb.connect(str(Path(place) / f"{count}.duckdb"))
    connection.execute(f"SET threads = 2; SET memory_limit = '{MEMORY}'")
    connection.execute(f"CREATE VIEW IF NOT EXISTS trips AS FROM '{folder}/*.parquet'")
    dataset, made = trips(column=column), {}
    if form == "prepared":
        making = Preparation(dataset, ("main",), DUCKDB)
        began = perf_counter()
        there = connection.execute("SELECT 1 FROM duckdb_tables()").fetchall()
        for _ in (
            ()
            if there
            else making.steps(SALT, lambda text: connection.execute(text).fetchall())
        ):
            pass
        made = {} if there else {"made": perf_counter() - began}
        dataset = making.prepared
    connection.execute(f"SET allowed_directories = ['{folder}/']")
    text = TEXT.replace("g,", f"{column},").replace("BY g", f"BY {column}")
    case = Case(
        DuckDB(connection), dataset, lambda: connection.cursor().execute(text).fetchall(), text
    )
    turns = 3 if form == "prepared" or count < 10**8 else 1
    groups, times = case.times(turns)
    ours, bare = (median(each) for each in zip(*times, strict=True))
    most = getrusage(RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"ours": ours, "bare": bare, "bytes": most, "groups": groups, **made}))


if __name__ == "__main__":
    main(*sys.argv[1:])
