"""The table of the benchmarks is what it says, and is the same however it is made."""

from pathlib import Path

import duckdb
import numpy as np
import pytest
from big_table import GROUPS, PLACE, ROWS_OF_A_PIECE, big_table, columns

ROWS = 10**6


def test_pieces_are_those_of_the_whole() -> None:
    whole, piece = columns(0, 5000, ROWS), columns(3000, 4000, ROWS)
    for name, cells in whole.items():
        assert np.array_equal(cells[3000:4000], piece[name])
    assert not np.array_equal(whole["v"][:1000], piece["v"])


def test_it_is_the_same_everywhere() -> None:
    made = columns(0, ROWS, ROWS)
    assert made["person"][:4].tolist() == [142, 57563, 76487, 57566]
    assert int(made["g"].sum()) == 249_706_565


def test_half_of_the_rows_are_spread_and_half_are_heaped() -> None:
    made = columns(0, ROWS, ROWS)
    rows = np.bincount(made["person"], minlength=ROWS // 10)
    assert 0.99 * ROWS / 10 < np.count_nonzero(rows) <= ROWS / 10
    # Zipf's law gives the first person log(2) / log(people) of its half
    assert 0.9 < rows.max() / (ROWS / 2 * np.log(2) / np.log(ROWS / 10)) < 1.1
    assert np.median(rows) == 6
    assert 0.99 * GROUPS < len(np.unique(made["g"])) <= GROUPS
    assert 0 <= made["v"].min() < 0.01
    assert 99.99 < made["v"].max() < 100


def test_rows_that_are_all_spread_look_otherwise() -> None:
    """The lie: without the heaped half nobody has many rows."""
    rows = np.bincount(columns(0, ROWS, ROWS)["row_id"] * 7919 % (ROWS // 10))
    assert rows.max() / (ROWS / 2 * np.log(2) / np.log(ROWS / 10)) < 0.01


def test_alone_everybody_has_one_row() -> None:
    assert len(np.unique(columns(0, ROWS, ROWS, alone=True)["person"])) == ROWS


def test_what_is_there_is_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PLACE, str(tmp_path))
    rows = ROWS_OF_A_PIECE + 1000
    folder = big_table(rows)
    first, last = sorted(folder.iterdir())
    written = first.stat().st_mtime_ns
    last.unlink()
    assert big_table(rows) == folder
    assert first.stat().st_mtime_ns == written
    text = f"SELECT COUNT(*), COUNT(DISTINCT row_id) FROM '{folder}/*.parquet'"  # noqa: S608
    assert duckdb.sql(text).fetchall() == [(rows, rows)]
