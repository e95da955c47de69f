"""The table that speed is measured on: made by arithmetic, the same wherever it is made.

A tenth as many people as rows. Half of the rows belong to people drawn evenly, half by Zipf's
law, so that a few people own very many; or, where everybody is ``alone``, each owns one row.
Groups are skewed, with few rows in the last ones. Columns: ``row_id``, ``person``, ``g`` (of
1,000 groups), ``fine`` (of 100,000) and ``v``, a float from 0 to 100.

Run it to write one: ``python benchmarks/big_table.py 1e7``, or ``1e7 alone``.
"""

import os
import sys
from pathlib import Path
from tempfile import gettempdir

import duckdb
import numpy as np
from numpy.typing import NDArray

PLACE = "TACIT_BENCH"
"""The environment's name for the folder where tables are kept between runs."""

ROWS_OF_A_PIECE = 10**6
ROWS_OF_A_PERSON = 10
GROUPS, FINE = 1000, 100_000
HIGHEST = 100.0

Words = NDArray[np.uint64]
Columns = dict[str, NDArray[np.int64] | NDArray[np.int32] | NDArray[np.float64]]


def big_table(rows: int, *, alone: bool = False) -> Path:
    """The folder of Parquet files that hold so many rows; what is missing is written.

    A file is made at a time, so that memory does not grow with the table.
    """
    place = Path(os.environ.get(PLACE) or Path(gettempdir()) / "tacit-bench")
    folder = place / f"{'alone' if alone else 'skewed'}-{rows}"
    folder.mkdir(parents=True, exist_ok=True)
    for number, first in enumerate(range(0, rows, ROWS_OF_A_PIECE)):
        path = folder / f"{number:05}.parquet"
        if not path.exists():
            piece = columns(first, min(first + ROWS_OF_A_PIECE, rows), rows, alone=alone)
            _write(piece, path)
    return folder


def columns(first: int, end: int, rows: int, *, alone: bool = False) -> Columns:
    """The rows from ``first`` up to ``end`` of a table of so many."""
    numbers = np.arange(first, end, dtype=np.int64)
    people = max(rows // ROWS_OF_A_PERSON, 1)
    evenly = np.floor(_parts(numbers, 1) * people).astype(np.int64)
    zipf = np.floor(np.exp(_parts(numbers, 1) * np.log(people))).astype(np.int64) - 1
    crowd = np.where(_words(numbers, 2) % np.uint64(2) == 0, evenly, zipf)
    skew = _parts(numbers, 3) * _parts(numbers, 4)
    return {
        "row_id": numbers,
        "person": numbers if alone else crowd,
        "g": np.floor(skew * GROUPS).astype(np.int32),
        "fine": np.floor(skew * FINE).astype(np.int32),
        "v": _parts(numbers, 5) * HIGHEST,
    }


def _parts(numbers: NDArray[np.int64], stream: int) -> NDArray[np.float64]:
    """A number from 0 up to 1 for each row, that looks like chance."""
    return (_words(numbers, stream) >> np.uint64(11)) * 2.0**-53


def _words(numbers: NDArray[np.int64], stream: int) -> Words:
    """SplitMix64 of each row's number: no state, so that pieces can be made in any order."""
    with np.errstate(over="ignore"):
        word = numbers.astype(np.uint64) * np.uint64(8) + np.uint64(stream)
        word = (word + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def _write(piece: Columns, path: Path) -> None:
    """A whole file, or none: what is half written has another name."""
    half = path.with_suffix(f".{os.getpid()}")
    with duckdb.connect() as connection:
        connection.register("piece", piece)
        connection.execute(f"COPY piece TO '{half}' (FORMAT parquet, COMPRESSION zstd)")
    half.rename(path)


if __name__ == "__main__":
    print(big_table(int(float(sys.argv[1])), alone="alone" in sys.argv[2:]))
