"""A validated copy holds values of declared types, in range, or NULL, whatever was stored."""

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from postgres_cluster import PostgresCluster

from tacit.core.catalog import Catalog, Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.domain import Column, Kind, Schema
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.engines.duckdb import TYPES as DUCKDB_TYPES
from tacit.engines.duckdb_files import duckdb_owner
from tacit.engines.prepare import Preparation
from tacit.engines.print.postgres_dialect import POSTGRES
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.sql_dialects import DUCKDB
from tacit.engines.sql_engine import check_copies
from tacit.errors import InvalidValue

Run = Callable[[str], Sequence[Sequence[Any]]]
CENT, DAY = Fraction(1, 100), date(2026, 1, 1)


def dataset(*columns: Column, table: str = "t") -> Dataset:
    named = Schema((Column("who", Kind.INTEGER), *columns))
    return Dataset(
        "t", "p", named, UnitColumn("who"), Limits(1, 1), Location("e", (table,)), Epoch("1")
    )


def copied(run: Run, made: Dataset, dialect: Dialect, where: str) -> list[Any]:
    """What a copy holds of its second column, by the person in the first."""
    making = Preparation(made, (where,), dialect, 1, facts=("table: t",))
    for _ in making.steps(b"salt", run):
        pass
    name = made.schema.names[1]
    return [row[0] for row in run(f'SELECT "{name}" FROM {where}.tacit_t_0 ORDER BY who')]  # noqa: S608


@pytest.fixture
def postgres(cluster: PostgresCluster) -> Iterator[Run]:
    with psycopg.connect(cluster.database(f"valid_{uuid4().hex}"), autocommit=True) as link:

        def run(text: str) -> Sequence[Sequence[Any]]:
            cursor = link.execute(text.encode())
            return cursor.fetchall() if cursor.description else ()

        yield run


FROM_DUCKDB = [
    (Kind.INTEGER, "VARCHAR", "'7', 'n/a', '99999999999999999999', ' 8 '", [7, None, None, 8]),
    (Kind.INTEGER, "DOUBLE", "'1', 'nan', '1e300', '-inf'", [1, None, None, None]),
    (
        Kind.INTEGER,
        "HUGEINT",
        "'1', '170141183460469231731687303715884105727'",
        [1, 2**127 - 1],
    ),
    (Kind.FLOAT, "DOUBLE", "'1.5', 'nan', 'inf', '-0'", [1.5, None, None, 0.0]),
    (Kind.FLOAT, "FLOAT", "'0.5', '-nan'", [0.5, None]),
    (Kind.DECIMAL, "VARCHAR", "'1.239', 'x', '1e30'", [Decimal("1.24"), None, None]),
    (Kind.DECIMAL, "DECIMAL(38,0)", "'3', '99999999999999999999999999999'", [3, None]),
    (
        Kind.TEXT,
        "VARCHAR COLLATE NOCASE",
        "'North', repeat('x', 1001), 'ä'",
        ["North", None, "ä"],
    ),
    (Kind.TEXT, "ENUM('a', 'b')", "'a', 'b'", ["a", "b"]),
    (
        Kind.DATE,
        "DATE",
        "'2026-01-01', 'infinity', '20000-01-01'",
        [date(2026, 1, 1), None, None],
    ),
    (Kind.DATE, "VARCHAR", "'2026-02-28', '2026-02-30'", [date(2026, 2, 28), None]),
    (Kind.BOOLEAN, "VARCHAR", "'true', 'perhaps'", [True, None]),
]
FROM_POSTGRES = [
    (Kind.INTEGER, "text", "'7', 'n/a', '99999999999999999999'", [7, None, None]),
    (Kind.INTEGER, "float8", "'1', 'nan', '1e300', '-infinity'", [1, None, None, None]),
    (Kind.INTEGER, "numeric", "'1', 'nan', '1e30', 'infinity'", [1, None, None, None]),
    (Kind.FLOAT, "double precision", "'1.5', 'nan', 'infinity', '-0'", [1.5, None, None, 0.0]),
    (Kind.FLOAT, "numeric", "'1.5', 'nan', '1e400', '1e-400'", [1.5, None, None, 0.0]),
    (Kind.DECIMAL, "numeric(9, 2)", "'1.24', 'nan'", [Decimal("1.24"), None]),
    (Kind.DECIMAL, "numeric", "'1.239', 'nan', '1e30'", [Decimal("1.24"), None, None]),
    (Kind.TEXT, 'text COLLATE "en-x-icu"', "'North', repeat('x', 1001)", ["North", None]),
    (Kind.TEXT, "char(4)", "'a', 'b'", ["a", "b"]),
    (Kind.DATE, "date", "'2026-01-01', 'infinity', '20000-01-01'", [DAY, None, None]),
    (Kind.DATE, "timestamptz", "'2026-01-01 12:00Z', 'infinity'", [date(2026, 1, 1), None]),
]  # fmt: skip


def column(kind: Kind) -> Column:
    return Column("x", kind, step=CENT if kind is Kind.DECIMAL else None)


@pytest.mark.parametrize(("kind", "physical", "stored", "held"), FROM_DUCKDB)
def test_duckdb(kind: Kind, physical: str, stored: str, held: list[Any]) -> None:
    connection = duckdb.connect()

    def run(text: str) -> Sequence[Sequence[Any]]:
        return connection.execute(text).fetchall()

    run(f"CREATE TABLE t(who BIGINT, x {physical})")
    run(f"INSERT INTO t SELECT row_number() OVER (), unnest([{stored}])")
    made = dataset(column(kind))
    found = copied(run, made, DUCKDB, "main")
    assert found == held
    assert all(math.copysign(1, each) == 1 for each in found if each == 0)
    checked(DUCKDB, made, run, lambda text: _types(connection, text), DUCKDB_TYPES)
    [(sql,)] = run("SELECT sql FROM duckdb_tables() WHERE table_name = 'tacit_t_0'")
    assert "COLLATE" not in sql


@pytest.mark.parametrize(("kind", "physical", "stored", "held"), FROM_POSTGRES)
def test_postgresql(
    postgres: Run, kind: Kind, physical: str, stored: str, held: list[Any]
) -> None:
    postgres(f"CREATE DOMAIN d AS {physical}")  # a domain is the type that it is made of
    postgres("CREATE TABLE t(who bigint, x d)")
    for number, value in enumerate(_split(stored)):
        postgres(f"INSERT INTO t VALUES ({number}, {value})")  # noqa: S608
    made = dataset(column(kind))
    assert copied(postgres, made, POSTGRES, "public") == held
    [(collation, typed)] = postgres(
        "SELECT collname, format_type(atttypid, atttypmod) FROM pg_attribute LEFT JOIN "
        "pg_collation ON attcollation = pg_collation.oid WHERE attname = 'x' AND attrelid = "
        "'tacit_t_0'::regclass"
    )
    assert (collation == "C") == (kind is Kind.TEXT)
    if kind is Kind.DECIMAL:
        assert typed in {"numeric(9,2)", "numeric(22,2)"}


def test_what_postgresql_cannot_cast_for_every_value_is_told_to_the_owner(
    postgres: Run,
) -> None:
    postgres("CREATE TABLE t AS SELECT 1::bigint AS who, 'x'::text AS x")
    with pytest.raises(InvalidValue, match="The type of x is text in the table and date in"):
        copied(postgres, dataset(column(Kind.DATE)), POSTGRES, "public")


def test_text_of_a_parquet_file_that_is_not_utf8_is_null(tmp_path: Path) -> None:
    starts = pa.array([0, 1, 3, 6, 8], pa.int32()).buffers()[1]
    bad = pa.Array.from_buffers(pa.string(), 4, [None, starts, pa.py_buffer(b"a\xff\xfeabc??")])
    table = pa.table({"who": pa.array([1, 2, 3, 4], pa.int64()), "x": bad})
    pq.write_table(table, tmp_path / "t.parquet")
    file = str(tmp_path / "copies.duckdb")
    making = Preparation(dataset(column(Kind.TEXT)), ("c", "main"), DUCKDB, 1)
    source = str(tmp_path / "t.parquet")

    def make() -> None:
        with duckdb_owner(source, ("c", "main"), file=file, parquet="t") as run:
            for _ in making.steps(b"salt", run):
                pass

    if duckdb.__version__ < "2":  # which cannot read such text, so that its owner is told
        with pytest.raises(InvalidValue, match="text that is not UTF-8"):
            make()
        return
    make()
    with duckdb.connect(file) as made:
        found = made.execute("SELECT x FROM tacit_t_0 ORDER BY who").fetchall()
    assert found == [("a",), (None,), ("abc",), ("??",)]


def checked(
    dialect: Dialect,
    made: Dataset,
    run: Run,
    look: Callable[[str], Sequence[str]],
    types: Any,
) -> None:
    """The engine's own check takes the copy for one of the declared types."""
    people = Population("p", PrivacyUnit("person"))
    where = "main" if dialect == DUCKDB else "public"
    prepared = Preparation(made, (where,), dialect, 1, facts=("table: t",)).prepared
    assert isinstance(prepared, Dataset)
    found = check_copies(Catalog((people,), (prepared,)), dialect, look, types, Exception, run)
    assert [each.name for each in found] == ["t"]


def _types(connection: duckdb.DuckDBPyConnection, text: str) -> list[str]:
    return [str(kind) for _, kind, *_ in connection.execute(text).description]


def _split(values: str) -> list[str]:
    return (
        values.replace("('x', 1001)", "('x'; 1001)")
        .replace(", ", "\n")
        .replace(";", ",")
        .split("\n")
    )
