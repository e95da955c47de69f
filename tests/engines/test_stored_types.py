"""Every type of a column: no stored value fails, and each has one meaning on all engines."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

import duckdb
import postgres_over
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import stored_types
from spark_session import local
from stored_types import DUCKDB, POSTGRES, SPARK, TABLE, catalog_on, meant, questions

from tacit.core.catalog import Catalog
from tacit.core.domain import Column, Kind
from tacit.core.unseal import unseal
from tacit.engines.duckdb import DuckDB
from tacit.engines.duckdb_files import open_parquet, show_parquet
from tacit.engines.engine import CheckedEngine, Engine
from tacit.engines.print.copy_statement import CopiedRows, types_of
from tacit.engines.print.sql_dialects import DUCKDB as DIALECT
from tacit.engines.reference import Reference
from tacit.engines.spark import Spark
from tacit.errors import InvalidValue
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.project import AddressRule, EngineAddress, draft
from tacit.sql.parser import parse

SALT = b"salt"


@contextmanager
def on_duckdb() -> Iterator[DuckDB]:
    with duckdb.connect() as connection:
        for statement in stored_types.statements(DUCKDB):
            connection.execute(statement)
        yield DuckDB(connection)


@contextmanager
def on_postgres() -> Iterator[CheckedEngine]:
    engine, owner = postgres_over._server()
    owner.execute(b"DROP TABLE IF EXISTS stays; DROP TYPE IF EXISTS status")
    for statement in stored_types.statements(POSTGRES):
        owner.execute(statement.encode())
    yield engine


@contextmanager
def on_spark() -> Iterator[CheckedEngine]:
    engine = Spark(local())
    engine._session.sql("DROP TABLE IF EXISTS stays")
    for statement in stored_types.statements(SPARK):
        engine._session.sql(statement)
    yield engine


ONE_OF = {SPARK: int(os.environ.get("TACIT_TYPES_ON_SPARK", "1"))}
"""One question of so many is asked; CI asks Spark fewer."""

OPENED = {DUCKDB: on_duckdb, POSTGRES: on_postgres, SPARK: on_spark}


def answer(engine: Engine, text: str, catalog: Catalog) -> object:
    """Return the exact tallies of a question, and its groups."""
    plan = bound(canonical(parse(text, catalog)).plan, catalog).plan
    table = engine.run(plan, catalog, SALT)
    groups = None if table.groups is None else unseal(table.groups)
    return groups, [unseal(tally).tolist() for tally in table.tallies]


@pytest.mark.parametrize("name", OPENED)
def test_every_type_means_on_an_engine_what_the_reference_says(name: str) -> None:
    reference, catalog = Reference({TABLE: meant(name)}), catalog_on(name)
    with OPENED[name]() as engine:
        engine.check(catalog)
        for text in islice(questions(name), 0, None, ONE_OF.get(name, 1)):
            assert answer(engine, text, catalog) == answer(reference, text, catalog), text


PLAIN = re.compile("seen|ever|day|small|whole|big|huge|fine|single|double")
"""Columns that a copy stores as they are: days beyond the calendar are NULL there."""


def test_a_copy_stores_what_a_question_reads() -> None:
    known = catalog_on(DUCKDB)
    (table,) = known.datasets
    with duckdb.connect() as connection:
        for statement in stored_types.statements(DUCKDB):
            connection.execute(statement)
        found = connection.execute(types_of(TABLE, DIALECT)).fetchall()
        types = {str(column): str(kind) for column, kind, *_ in found}
        rows = DIALECT.render(CopiedRows(table, types, DIALECT).part(0, SALT))
        connection.execute(f"CREATE TABLE copied AS {rows}")
        connection.execute("DROP TABLE stays; ALTER TABLE copied RENAME TO stays")
        engine, reference = DuckDB(connection), Reference({TABLE: meant(DUCKDB)})
        copied = replace(known, datasets=(replace(table, schema=table.schema.copied),))
        engine.check(copied)
        asked = [text for text in questions(DUCKDB) if not PLAIN.search(text)]
        assert len(asked) > 20
        for text in asked:
            assert answer(engine, text, copied) == answer(reference, text, known), text


def redeclared(name: str, column: Column) -> Catalog:
    """Return the catalogue of DuckDB with another declaration of one column."""
    known = catalog_on(DUCKDB)
    (table,) = known.datasets
    columns = tuple(column if each.name == name else each for each in table.schema.columns)
    return replace(
        known, datasets=(replace(table, schema=replace(table.schema, columns=columns)),)
    )


@pytest.mark.parametrize(
    ("name", "column", "said"),
    [
        (
            "status",
            Column("status", Kind.TEXT),
            'type in the table is ENUM. Declare stored = "enum"',
        ),
        ("id", Column("id", Kind.TEXT), 'is UUID. Declare stored = "uuid"'),
        ("berlin", Column("berlin", Kind.TIMESTAMP), "Declare the zone in which it is read"),
        ("seen", Column("seen", Kind.TIMESTAMP, zone="UTC"), "is TIMESTAMP. Declare the kind"),
        ("big", Column("big", Kind.TEXT), "is BIGINT. Declare the kind"),
    ],
)
def test_another_stored_type_is_refused_without_its_labels(
    name: str, column: Column, said: str
) -> None:
    with on_duckdb() as engine, pytest.raises(InvalidValue) as refused:
        engine.check(redeclared(name, column))
    assert said in str(refused.value)
    assert not any(label in str(refused.value) for label in ("hiv", "it's", "north"))


def test_a_draft_declares_stored_types_and_lists_what_is_left_out() -> None:
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE TABLE odd (id UUID, status {stored_types.ENUM}, came TIMESTAMPTZ, "
            "tags VARCHAR[], doc JSON, place STRUCT(secret INTEGER), photo BLOB, "
            'long INTERVAL, "a\nb = 1" TIME)'
        )
        engine = DuckDB(connection)
        found = [(("odd",), engine.columns(("odd",)), engine.unused_columns(("odd",)))]
    written = draft(
        EngineAddress("warehouse", "duckdb", "x.duckdb"),
        AddressRule("duckdb", "path"),
        "people",
        "a",
        found,
    )
    for line in (
        'id = { kind = "text", stored = "uuid" }',
        'status = { kind = "text", stored = "enum" }',
        'came = { kind = "timestamp", zone = "UTC" }  # the zone',
        '# left out: "tags", of the type "VARCHAR[]"; in a view or a copy, extract an element',
        '# left out: "place", of the type "STRUCT"; in a view or a copy, extract a field',
        '# left out: "photo", of the type "BLOB"; in a view or a copy, compute a number',
        '# left out: "a\\nb = 1", of the type "TIME"; in a view or a copy, extract a number',
    ):
        assert f"\n{line}" in written
    assert "secret" not in written
    assert "hiv" not in written


def test_a_parquet_file_has_zoned_nanoseconds_and_lists_what_is_left_out(
    tmp_path: Path,
) -> None:
    """As pandas writes it: datetime64[ns, UTC], beside columns that no question can use."""
    nanoseconds = [1_772_582_399_999_999_999, None, -1]
    columns = {
        "came": pa.array(nanoseconds, pa.timestamp("ns", tz="UTC")),
        "tags": pa.array([["a"], None, []], pa.list_(pa.string())),
        "wide": pa.array([1, None, 2], pa.decimal256(50, 0)),
    }
    path = tmp_path / "visits.parquet"
    pq.write_table(pa.table(columns), path)
    engine = open_parquet(str(path), "visits", columns=["came"])
    (came,) = engine.columns(("visits",))
    assert (came.name, came.kind, came.zone) == ("came", Kind.TIMESTAMP, "UTC")
    assert engine.unused_columns(("visits",)) == (
        ("tags", "VARCHAR[]"),
        ("wide", "DECIMAL of more than 38 digits"),
    )
    engine.close()
    with duckdb.connect() as connection:
        show_parquet(connection, str(path), "visits")
        found = connection.execute("SELECT epoch_us(came) FROM visits").fetchall()
    # to the nearest microsecond
    assert [value for (value,) in found] == [1_772_582_400_000_000, None, 0]
