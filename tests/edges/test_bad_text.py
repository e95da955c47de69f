"""One text that is not UTF-8 tells nothing of anybody, by failing or by anything else.

In version 0.1.0 a Parquet file with one such text was accepted. DuckDB fails where it decodes
the text, and decodes only what pushed-down filters leave. So whoever owned one bad row read
other people's values exactly: a question about a person failed if and only if a condition on
this person held. Bytes that are no text are now read as question marks, and no question fails.
"""

import random
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Bar
from searching import read_exactly

import tacit
from tacit.errors import InvalidValue, TacitError
from tacit.session.project import apply_project, open_project

PEOPLE, TARGETS = 20_000, 6
LEAST, MOST = 20_000, 90_000
BAD = b"\xff\xfebad"
"""Text of Latin-1, or of an analyst who owns one row."""


def texts(values: list[bytes]) -> pa.Array:
    raw = pa.array(values, type=pa.binary())
    return pa.StringArray.from_buffers(len(raw), raw.buffers()[1], raw.buffers()[2])


def written(path: Path, **more: pa.Array) -> list[int]:
    """A file of people, the last of whom has the bad text; gives what each earns."""
    choose = random.Random(2)  # noqa: S311 - a table, and no noise
    pay = [choose.randint(LEAST, MOST) for _ in range(PEOPLE)] + [0]
    notes = [choose.choice([b"ok", b"well", b"ill"]) for _ in range(PEOPLE)] + [BAD]
    columns = {"person": list(range(PEOPLE + 1)), "pay": pay, "note": texts(notes), **more}
    pq.write_table(pa.table(columns), path)
    return pay


def opened(path: Path) -> tacit.Session:
    return tacit.open(
        str(path),
        table="t",
        population="people",
        unit="person",
        max_groups=1,
        max_rows=1,
        bounds={"pay": (0, 1_000_000)},
        budget=(1, "1e-6"),
        folder=path.parent / "ledger",
    )


def fails(session: tacit.Session, condition: str) -> bool:
    """Whether a question fails: what an analyst sees."""
    counted = "SUM(CASE WHEN note = 'q' THEN 1 ELSE 0 END) AS n"
    try:
        session.sql(f"SELECT {counted} FROM t WHERE {condition}").ask(epsilon="0.001")  # noqa: S608
    except TacitError:
        return True
    return False


def test_a_text_that_is_no_text_tells_nothing(tmp_path: Path, bar: Bar) -> None:
    pay = written(tmp_path / "t.parquet")
    with opened(tmp_path / "t.parquet") as session:
        exact, failures = read_exactly(partial(fails, session), pay, PEOPLE, TARGETS)
        failures += fails(session, "pay >= 0")
    bar("edge bad_text: questions that failed", failures, "0", failures == 0)
    bar("edge bad_text: people's pay read exactly", f"{exact} of {TARGETS}", "0", exact == 0)


def test_whoever_decodes_strictly_tells_who_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lie: read as version 0.1.0 did, whether one question fails depends on one person."""
    monkeypatch.setattr("tacit.engines.duckdb_files._lenient", lambda _: "")
    monkeypatch.setattr("tacit.engines.duckdb_files._check_decoding", lambda *_: None)
    pay = written(tmp_path / "t.parquet")
    with opened(tmp_path / "t.parquet") as session:
        assert not fails(session, f"person = 7 AND pay > {pay[7]}")
        assert fails(session, f"person = 7 AND pay >= {pay[7]}")


def test_times_that_no_question_can_read_are_refused_when_a_file_is_opened(
    tmp_path: Path, bar: Bar
) -> None:
    far = pa.array([0] * PEOPLE + [2**62], pa.int64()).cast(pa.timestamp("ms"))
    written(tmp_path / "t.parquet", seen=far)
    with pytest.raises(InvalidValue, match="in the column 'seen' that DuckDB cannot read"):
        opened(tmp_path / "t.parquet")
    bar("edge bad_text, far times", "refused when opened", "refused when opened", True)


PROJECT = """
[engines.files]
kind = "parquet"
path = "t.parquet"

[populations.people]
unit = "person"
owners = ["olga"]
budget = { epsilon = 3, delta = "1e-6" }

[datasets.t]
population = "people"
engine = "files"
epoch = "1"
unit = "person"
max_groups = 1
max_rows = 1
columns = { person = "integer", COLUMN }
"""


def test_one_time_that_is_not_declared_stops_nobody(tmp_path: Path, bar: Bar) -> None:
    """One person's value in a column that nobody reads is met by nobody."""
    far = pa.array([0] * PEOPLE + [2**62], pa.int64()).cast(pa.timestamp("ms"))
    written(tmp_path / "t.parquet", seen=far)
    file = tmp_path / "tacit.toml"
    file.write_text(PROJECT.replace("COLUMN", 'pay = "integer", note = "text"'))
    apply_project(file, by="olga")
    with open_project(file) as local:
        assert not fails(local, "pay >= 0")
    with open_project(file, tell=lambda _: None) as session:
        failed = fails(session, "pay >= 0")
    bar("edge bad_text, far times not declared", failed, "answered", not failed)


def test_one_time_that_is_declared_is_told_to_the_owner(tmp_path: Path) -> None:
    """The lie: no question may meet it, and DuckDB cannot read around it."""
    far = pa.array([0] * PEOPLE + [2**62], pa.int64()).cast(pa.timestamp("ms"))
    written(tmp_path / "t.parquet", seen=far)
    file = tmp_path / "tacit.toml"
    file.write_text(PROJECT.replace("COLUMN", 'seen = "timestamp"'))
    apply_project(file, by="olga")  # which reads no row
    for tell in (None, lambda _: None):
        with pytest.raises(InvalidValue, match="in the column 'seen' that DuckDB cannot read"):
            open_project(file, tell=tell)


def test_a_decimal_of_more_digits_than_its_type_fails_no_question(tmp_path: Path) -> None:
    raw = b"".join(
        value.to_bytes(16, "little", signed=True) for value in [150] * PEOPLE + [2**62]
    )
    cost = pa.Array.from_buffers(pa.decimal128(18, 2), PEOPLE + 1, [None, pa.py_buffer(raw)])
    written(tmp_path / "t.parquet", cost=cost)
    with opened(tmp_path / "t.parquet") as session:
        assert not fails(session, "cost > 1.499")
        assert not fails(session, "cost IN (1.5, 0.001) AND person = 20000")


def test_decimals_that_would_be_floats_are_left_out(tmp_path: Path) -> None:
    wide = pa.array([1] * (PEOPLE + 1), pa.int64()).cast(pa.decimal256(60, 2))
    written(tmp_path / "t.parquet", wide=wide)
    with opened(tmp_path / "t.parquet") as session:
        assert session.catalog.dataset("t").schema.names == ("person", "pay", "note")
