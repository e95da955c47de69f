"""Two people are two units in a fit, whatever their names are, and no name is long in it.

Names that arrays of NumPy take for one: integers beyond 53 bits, which become floats, and texts
that differ by NULs at their end.
"""

import sys
import tracemalloc
from collections.abc import Sequence
from typing import Any

import duckdb as driver
import numpy as np
import pytest
from engines_over import ENGINES, Over
from spark_over import spark_over

from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.core.catalog import Catalog, Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.domain import Bounds, Column, Kind, Schema
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.core.unseal import unseal
from tacit.engines import duckdb, unit_rows
from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import Engine
from tacit.engines.print import statement
from tacit.engines.print.postgres_dialect import PostgresDialect
from tacit.engines.print.sql_dialects import SparkDialect
from tacit.engines.reference import Reference
from tacit.engines.unit_rows import UnitRows, sorted_rows
from tacit.errors import InternalError
from tacit.ml.estimator import _texts
from tacit.ml.linear_classifiers import LinearSVC
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.estimator import training_of
from tacit.plan.plan import Scan
from tacit.query.paid_work import Data, drive

TABLE = ("people",)
NULS = ["a", "a\0", "a\0\0", "\0", ""]
TEXTS = ["a", "A", "a ", " a", "", "ä", "a\u0308", "1", "01", "\N{GRINNING FACE}", "z" * 70]
NUMBERS = [0, -1, 2**53, 2**53 + 1, 2**62, 2**62 + 1, 2**63 - 1, -(2**63), -(2**63) + 1]
HUGE = [2**100, 2**100 + 1, 2**53 + 1, 2**53, -(2**100), 1 - 2**100, 2**126]
MODEL = LinearSVC(epsilon=1, bounds=(-1, 1), iterations=1, clip=1.0)


def catalog(kind: Kind, table: tuple[str, ...] = TABLE) -> Catalog:
    columns = (
        Column("person", kind),
        Column("x", Kind.FLOAT, bounds=Bounds.of(-1, 1)),
        Column("y", Kind.INTEGER, bounds=Bounds.of(0, 1)),
    )
    declared = Dataset(
        "people",
        "all",
        Schema(columns),
        UnitColumn("person"),
        Limits(1, 100),
        Location("engine", table),
        Epoch("1"),
    )
    return Catalog((Population("all", PrivacyUnit("person")),), (declared,))


def rows_of(names: Sequence[str | int], each: int = 3) -> list[Any]:
    return [
        {"person": name, "x": 1 / (1 + place + row), "y": place % 2}
        for place, name in enumerate(names)
        for row in range(each)
    ]


def found(engine: Engine, declared: Catalog) -> list[list[int]]:
    """The rows of a fit, opened: the numbers of units, and integers."""
    training = training_of(Scan("people"), ["x"], "y", declared)
    step = MODEL.rows(training).step(training)
    blocks = unseal(Data(engine, declared, b"salt").answer(step)).blocks()
    return [row for block in blocks for row in block.tolist()]


def units(rows: list[list[int]]) -> int:
    return len({unit for unit, *_ in rows})


def huge(names: Sequence[int]) -> Engine:
    """DuckDB over units of 128 bits."""
    connection = driver.connect()
    connection.execute("CREATE TABLE people (person HUGEINT, x DOUBLE, y BIGINT)")
    for row in rows_of(names):
        connection.execute("INSERT INTO people VALUES (?, ?, ?)", list(row.values()))
    return DuckDB(connection)


def asked(name: str, kind: Kind, names: Sequence[str | int]) -> list[list[int]]:
    declared = catalog(kind)
    return found(ENGINES[name](declared, {TABLE: rows_of(names)}), declared)


# ------------------------------------------------------------ two people are two units


@pytest.mark.parametrize(("kind", "names"), [(Kind.TEXT, TEXTS), (Kind.INTEGER, NUMBERS)])
@pytest.mark.parametrize("name", ENGINES)
def test_each_name_is_one_unit(name: str, kind: Kind, names: Sequence[str | int]) -> None:
    rows = asked(name, kind, names)
    declared = catalog(kind)
    assert rows == found(Reference({TABLE: rows_of(names)}), declared)
    assert units(rows) == len(names)


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "postgresql"])
def test_nuls_at_the_end_are_part_of_a_name(name: str) -> None:
    """PostgreSQL has no NUL in a text."""
    assert units(asked(name, Kind.TEXT, NULS)) == len(NULS)


def test_nuls_would_be_lost_in_an_array_of_text_on_spark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def by_array(rows: UnitRows, names: Any, columns: Any) -> None:
        """The lie, of before: names as an array, whatever type that gets."""
        _, numbers = np.unique(np.asarray(names), return_inverse=True)
        added(rows, numbers.astype(np.int64), columns)

    added = UnitRows.add
    monkeypatch.setattr(UnitRows, "add", by_array)
    monkeypatch.setattr(SparkDialect, "unit_mark", lambda _, unit: unit)
    declared = catalog(Kind.TEXT)
    assert units(found(spark_over(declared, {TABLE: rows_of(NULS)}), declared)) < len(NULS)


def test_integers_of_128_bits_are_not_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = catalog(Kind.INTEGER)
    assert found(huge(HUGE), declared) == found(Reference({TABLE: rows_of(HUGE)}), declared)
    assert units(found(huge(HUGE), declared)) == len(HUGE)
    # the lie: as fetched by NumPy, where they are floats
    unit = statement.UNIT_MARK
    as_floats = duckdb.READ_ROWS.replace(f"{unit} IS", f"CAST({unit} AS DOUBLE) IS")
    as_floats = as_floats.replace(f"LAG({unit})", f"LAG(CAST({unit} AS DOUBLE))")
    monkeypatch.setattr(duckdb, "READ_ROWS", as_floats)
    assert units(found(huge(HUGE), declared)) < len(HUGE)


@pytest.mark.parametrize("kept", [True, False])
def test_a_neighbour_of_128_bits_moves_a_fit_by_its_reach(
    monkeypatch: pytest.MonkeyPatch, *, kept: bool
) -> None:
    """One row on one side, and a hundred of another person on the other side."""
    if not kept:  # the lie
        unit = statement.UNIT_MARK
        said = duckdb.READ_ROWS.replace(f"{unit} IS DISTINCT", "1 IS DISTINCT")
        monkeypatch.setattr(duckdb, "READ_ROWS", said.replace(f"LAG({unit})", "LAG(1)"))
    declared = catalog(Kind.INTEGER)
    training = training_of(Scan("people"), ["x"], "y", declared)
    there, calls = RecordingGateway(SystemEntropy(b"a charge")), []
    for gateway, others in ((there, 0), (None, 100)):
        connection = driver.connect()
        connection.execute("CREATE TABLE people (person HUGEINT, x DOUBLE, y BIGINT)")
        for person, x, y in [(2**100, 1.0, 1)] * 10 + [(2**100 + 1, 1.0, 0)] * others:
            connection.execute("INSERT INTO people VALUES (?, ?, ?)", [person, x, y])
        data = Data(DuckDB(connection), declared, b"salt")
        replaying = gateway or ReplayingGateway(calls)
        if kept or gateway:
            drive(MODEL, training, data, replaying)
        else:
            with pytest.raises(BrokenPromise, match="changes by the square root of"):
                drive(MODEL, training, data, replaying)
        calls = there.calls


def test_parts_go_on_with_the_unit_of_the_part_before(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = catalog(Kind.INTEGER)
    whole = found(huge(HUGE), declared)
    for size in (1, 2, 3, 7):
        monkeypatch.setattr(duckdb, "PART", size)
        assert found(huge(HUGE), declared) == whole


# ------------------------------------------------------------------ no name is long


LONG = "A" * 60_000


def longest(over: Over, kind: Kind, names: Sequence[str | int]) -> int:
    """The size of the longest thing that stands for a unit outside of its engine."""
    sizes: list[int] = []

    def add(rows: UnitRows, names: Any, columns: Any) -> None:
        listing = names.tolist() if isinstance(names, np.ndarray) else names
        sizes.extend(map(sys.getsizeof, listing))
        added(rows, names, columns)

    added = UnitRows.add
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(UnitRows, "add", add)
        declared = catalog(kind)
        found(over(declared, {TABLE: rows_of(names)}), declared)
    return max(sizes)


@pytest.mark.parametrize("name", ENGINES)
def test_no_name_leaves_an_engine(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert longest(ENGINES[name], Kind.TEXT, ["a", LONG]) <= 120
    if name in ("postgresql", "spark"):  # the lie: it hands on names
        for dialect in (PostgresDialect, SparkDialect):
            monkeypatch.setattr(dialect, "unit_mark", lambda _, unit: unit)
        assert longest(ENGINES[name], Kind.TEXT, ["a", LONG]) > len(LONG)


def peak(names: Sequence[Any]) -> int:
    """The most bytes that were held to number these names."""
    tracemalloc.start()
    try:
        unit_rows._changes_before(names)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_one_long_name_takes_no_memory_for_others() -> None:
    names = [f"w{number}" for number in range(1000)]
    assert peak([*names, LONG]) < 2 * peak([*names, "A"]) < 100_000
    # the lie: an array of text is as wide for all as for the longest
    assert np.asarray([*names, LONG]).nbytes > 200_000_000


# --------------------------------------------------------------- types of arrays


@pytest.mark.parametrize("names", [NULS, HUGE, [b"a", b"a\0"], [2**64, 2**64 + 1]])
def test_names_of_python_are_compared_as_they_are(names: Sequence[Any]) -> None:
    rows = UnitRows(1)
    for name in names:
        rows.add([name, name], [[1, 2]])
    (block,) = rows.blocks()
    assert block[:, 0].tolist() == [place for place in range(len(names)) for _ in range(2)]
    again = [
        row
        for each in sorted_rows([*names, *names], [range(2 * len(names))]).blocks()
        for row in each[:, 0]
    ]
    assert len(set(again)) == len(names)
    # the lie: an array of whatever type they get; of some it is one that keeps them apart
    merged = len(set(np.asarray(names).tolist()))
    assert merged < len(names) or np.asarray(names).dtype == object


@pytest.mark.parametrize(
    "wrong",
    [
        np.array(["a", "a\0"]),
        np.array([b"a", b"a\0"]),
        np.array([2.0**53, 1.0]),
        np.array(["a", "a\0"], dtype=object),
        np.array([1, 2], dtype=np.uint64),
        [0.5, 1.5],
        [None, 1],
        [np.str_("a"), np.str_("b")],
    ],
)
def test_names_of_other_types_are_refused(wrong: Any) -> None:
    with pytest.raises(InternalError):
        UnitRows(1).add(wrong, [[1, 2]])


@pytest.mark.parametrize(
    "wrong", [np.array([1.5, 2.5]), np.array([1, 2], dtype=object), [1.5, 2.5], [2**63, 0]]
)
def test_columns_of_other_types_are_refused(wrong: Any) -> None:
    with pytest.raises((InternalError, TypeError, OverflowError)):
        UnitRows(1).add(["a", "b"], [wrong])
    # the lie: NumPy cuts a number without a word
    assert np.array([1.5, 2.5], dtype=np.int64).tolist() == [1, 2]


def test_one_long_label_takes_no_memory_for_others() -> None:
    labels = np.array([*("no" for _ in range(1000)), LONG], dtype=object)
    tracemalloc.start()
    try:
        texts = _texts(labels)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert texts.tolist() == labels.tolist()
    # the lie
    assert labels.astype(str).nbytes > 200_000_000
