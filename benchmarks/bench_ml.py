"""A regression in an engine beside the bare sums of the same engine.

`TACIT_ML_ROWS` is the table of the regression in the engine: 10,000,000 rows of 20 columns.
"""

import os
from pathlib import Path
from typing import Any

import duckdb
import pytest
from conftest import Bar
from stopwatch import timed

import tacit
from tacit.ml.linear_regression import LinearRegression

ROWS = int(os.environ.get("TACIT_ML_ROWS", "10000000"))
COLUMNS = 20
NAMES = [f"x{place}" for place in range(COLUMNS)]
SLOWER = 3


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of random numbers between 0 and 1, made by DuckDB itself."""
    path = tmp_path_factory.mktemp("ml") / "rows.duckdb"
    random = ", ".join(f"random() AS {name}" for name in NAMES)
    with duckdb.connect(str(path)) as made:
        made.execute(
            f"CREATE TABLE rows AS SELECT i AS person, {random}, random() AS y "  # noqa: S608
            f"FROM range({ROWS}) AS t(i)"
        )
    return path


def bare(path: Path, *, whole: bool) -> Any:
    """X'X and X'y as anybody would ask for them, without bounds: of floats or whole numbers."""
    pairs = [(one, other) for at, one in enumerate(NAMES) for other in NAMES[: at + 1]]
    sums = ", ".join(f"sum({a} * {b})" for a, b in [*pairs, *((name, "y") for name in NAMES)])
    steps = ", ".join(f"CAST({name} * {2**19} AS BIGINT) AS {name}" for name in [*NAMES, "y"])
    source = f"(SELECT {steps} FROM rows)" if whole else "rows"  # noqa: S608
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(f"SELECT {sums} FROM {source}").fetchall()  # noqa: S608


def fitted(path: Path, folder: Path, **limits: Any) -> float:
    """Seconds of a fit, the better of two."""
    declared = dict.fromkeys([*NAMES, "y"], (0, 1))
    with tacit.open(
        str(path),
        population="people",
        bounds=declared,
        max_groups=1,
        budget=(10, "1e-6"),
        table="rows",
        folder=folder,
        **limits,
    ) as session:
        return min(
            timed(
                lambda e=epsilon: session.fit(
                    LinearRegression(epsilon=e), "rows", features=NAMES, target="y"
                )
            )[0]
            for epsilon in (1, 2)
        )


def test_a_regression_takes_little_longer_than_the_bare_sums(
    database: Path, tmp_path: Path, bar: Bar
) -> None:
    plain = {
        kind: min(timed(lambda w=whole: bare(database, whole=w))[0] for _ in range(2))
        for kind, whole in (("whole numbers", True), ("floats", False))
    }
    seconds = fitted(database, tmp_path / "one", unit="person", max_rows=1, one_row=True)
    shown = f"regression on {ROWS:,} rows by {COLUMNS} columns in DuckDB"
    for kind, least in plain.items():
        ratio = seconds / least
        told = f"{shown}: {seconds:.1f} s beside bare sums of {kind}, {least:.1f} s"
        bar(told, ratio, f"<= {SLOWER}", ratio <= SLOWER)


def test_where_people_have_several_rows_the_bound_on_them_is_what_takes_time(
    database: Path, tmp_path: Path, bar: Bar
) -> None:
    few = tmp_path / "few.duckdb"
    with duckdb.connect(str(few)) as made:
        made.execute(f"ATTACH '{database}' AS whole (READ_ONLY)")
        made.execute(
            "CREATE TABLE rows AS SELECT person // 3 AS unit, * FROM whole.rows "  # noqa: S608
            f"LIMIT {ROWS // 10}"
        )
    least = min(timed(lambda: bare(few, whole=True))[0] for _ in range(2))
    seconds = fitted(few, tmp_path / "many", unit="unit", max_rows=2, max_rows_in_all=2)
    shown = f"regression on {ROWS // 10:,} rows, of which a person keeps two"
    bar(f"{shown}: times the bare sums", seconds / least, "told", ok=True)
