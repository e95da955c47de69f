"""Parquet's decimal256 is read exactly, or refused with what to do; never as a float."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit
from tacit.core.domain import Kind
from tacit.engines.duckdb_files import open_frame, open_parquet
from tacit.errors import InvalidValue, UnknownName

ADVICE = r"as decimal128\(38, 18\)"
MANY = Decimal("12345678901234567.89")
"""A float does not hold these digits."""


def written(path: Path, digits: int, after: int, value: Decimal = MANY) -> str:
    table = pa.table({"cost": pa.array([value], pa.decimal256(digits, after)), "n": [1]})
    pq.write_table(table, path)
    assert pq.read_schema(path).field("cost").type == pa.decimal256(digits, after)
    return str(path)


@pytest.mark.parametrize(("digits", "after"), [(19, 2), (22, 2), (38, 18)])
def test_few_digits_are_read_exactly(tmp_path: Path, digits: int, after: int) -> None:
    path = written(tmp_path / "t.parquet", digits, after)
    engine = open_parquet(path, "t", columns=("cost",))
    found = {column.name: column for column in engine.columns(("t",))}
    assert (found["cost"].kind, found["cost"].step) == (Kind.DECIMAL, Fraction(1, 10**after))
    read = engine._connection.execute("SELECT cost FROM t").fetchall()
    assert read == [(MANY,)]
    assert Decimal(float(MANY)) != MANY  # which a float would not give
    engine.close()


def test_a_declared_column_that_would_be_a_float_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", 39, 2)
    with pytest.raises(InvalidValue, match=f"'cost' as a decimal of more than 38.*{ADVICE}"):
        open_parquet(path, "t", columns=("cost", "n"))
    for columns in (None, ("n",)):
        engine = open_parquet(path, "t", columns=columns)
        assert [column.name for column in engine.columns(("t",))] == ["n"]
        engine.close()
    with pytest.raises(UnknownName, match="decimals with more than 20 digits before the point"):
        tacit.open(
            path,
            population="people",
            unit="n",
            max_groups=1,
            max_rows=1,
            bounds={"cost": (0, 1)},
            budget=(1, "1e-6"),
            folder=tmp_path / "ledger",
        )


def test_a_frame_of_such_decimals_is_refused(tmp_path: Path) -> None:
    frame = pq.read_table(written(tmp_path / "t.parquet", 20, 2))
    with pytest.raises(InvalidValue, match=f"'cost', which is a decimal256.*{ADVICE}"):
        open_frame(frame, "t")
    with pytest.raises(InvalidValue, match="cannot read a dict object as a table"):
        open_frame({"a": 1}, "t")
