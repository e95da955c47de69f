"""Rows of a file are read for their owner."""

from pathlib import Path

import pandas as pd
import pytest

from tacit.engines.duckdb_files import one_row_each
from tacit.errors import InvalidValue


def test_rows_of_a_parquet_file_are_read_for_their_owner(tmp_path: Path) -> None:
    file = str(tmp_path / "people.parquet")
    people = {"name": ["a", "a", "b", None], "pay": [2, 1, None, 9], "ill": [True] * 4}
    pd.DataFrame(people).to_parquet(file)
    found = one_row_each(file, ("people",), "name", ["pay", "ill"], parquet="people", most=10)
    assert sorted(found) == [("a", "1.0", "true"), ("b", "", "true")]
    with pytest.raises(InvalidValue, match="names of the table"):
        one_row_each(file, ("people",), "name", ["shoe"], parquet="people", most=10)
