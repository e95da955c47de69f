"""What may be served in place: base tables whose rows are values, and nothing that computes."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import duckdb
import psycopg
import pytest
from postgres_cluster import PostgresCluster

from tacit.core.catalog import Catalog, Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.domain import Column, Kind, Schema
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.engines.duckdb import DuckDB, open_duckdb
from tacit.engines.postgres import Postgres
from tacit.engines.postgres_role import reader
from tacit.engines.storage_rules import plain_in_spark


def declared(*table: str) -> Catalog:
    columns = (Column("person", Kind.INTEGER), Column("ward", Kind.TEXT))
    visits = Dataset(
        "visits",
        "people",
        Schema(columns),
        UnitColumn("person"),
        Limits(1, 1),
        Location("here", table or ("visits",)),
        Epoch("1"),
    )
    return Catalog((Population("people", PrivacyUnit("person")),), (visits,))


PLAIN = "CREATE TABLE visits (person BIGINT, ward VARCHAR)"
NOT_PLAIN = {
    "is not a base table": "CREATE VIEW visits AS SELECT 1 AS person, 'a' AS ward",
    "has a generated column": (
        "CREATE TABLE visits (person BIGINT, ward VARCHAR, more BIGINT AS (person + 1))"
    ),
    "has a column with a collation": (
        "CREATE TABLE visits (person BIGINT, ward VARCHAR COLLATE NOCASE)"
    ),
    "has a column of an enum": "CREATE TABLE visits (person BIGINT, ward ENUM ('a', 'b'))",
}


@pytest.mark.parametrize("reason", NOT_PLAIN)
def test_what_computes_in_duckdb_is_not_served_in_place(reason: str, tmp_path: Path) -> None:
    path = str(tmp_path / "d.duckdb")
    with duckdb.connect(path) as link:
        link.execute(NOT_PLAIN[reason])
    engine = open_duckdb(path)
    [told] = engine.plain(declared())
    assert told.startswith(f"'visits' {reason}")
    assert told.endswith(
        ", and is not served in place. Make a copy: run `tacit prepare visits`."
    )
    engine.close()


@pytest.mark.parametrize("table", [("visits",), ("main", "visits"), ("held", "main", "visits")])
def test_a_base_table_of_duckdb_is_plain(table: tuple[str, ...], tmp_path: Path) -> None:
    path = str(tmp_path / "d.duckdb")
    with duckdb.connect(path) as link:
        link.execute(PLAIN)
        # words in names and texts are no words of the statement
        link.execute(
            "ALTER TABLE visits ADD COLUMN \"collate generated\" VARCHAR DEFAULT 'COLLATE'"
        )
    engine = open_duckdb(path)
    assert engine.plain(declared(*table)) == ()
    assert engine.plain(declared("elsewhere", "visits"))
    engine.close()


def test_a_file_is_not_served_in_place(tmp_path: Path) -> None:
    with duckdb.connect() as link:
        link.execute(f"COPY (SELECT 1 AS person, 'a' AS ward) TO '{tmp_path}/v.parquet'")
        link.execute(f"CREATE VIEW visits AS FROM '{tmp_path}/v.parquet'")
        [told] = DuckDB(link).plain(declared())
    assert "is not a base table (it is a view or a file)" in told


def test_nothing_of_spark_is_served_in_place() -> None:
    [told] = plain_in_spark(declared())
    assert told.startswith("'visits' is read by Spark")


@pytest.fixture
def owner(cluster: PostgresCluster) -> Iterator[psycopg.Connection]:
    made = cluster.database(f"tacit_{uuid4().hex}")
    with psycopg.connect(made, autocommit=True) as link:
        yield link


def read(owner: psycopg.Connection) -> tuple[str, ...]:
    """What PostgreSQL says by a role that may read the table."""
    name = f"tacit_{uuid4().hex}"
    for statement in reader(name, declared()):
        owner.execute(statement.encode())
    address = f"postgresql://{name}@{owner.info.host}:{owner.info.port}/{owner.info.dbname}"
    told = Postgres(address).plain(declared())
    owner.execute(f"DROP OWNED BY {name}; DROP ROLE {name}".encode())
    return told


BASE = "CREATE TABLE visits (person bigint, ward text"
FOREIGN = """\
CREATE EXTENSION file_fdw;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
"""
ON_POSTGRES = {
    "is a view": "CREATE VIEW visits AS SELECT 1::bigint AS person, 'a'::text AS ward",
    "is a materialised view": (
        "CREATE MATERIALIZED VIEW visits AS SELECT 1::bigint AS person, 'a'::text AS ward"
    ),
    "is a foreign table": (
        f"{FOREIGN} CREATE FOREIGN TABLE visits (person bigint, ward text)"
        " SERVER files OPTIONS (filename '/dev/null')"
    ),
    "is a foreign table, or has one among its partitions": (
        f"{FOREIGN} {BASE}) PARTITION BY LIST (person);"
        " CREATE FOREIGN TABLE part PARTITION OF visits FOR VALUES IN (1)"
        " SERVER files OPTIONS (filename '/dev/null')"
    ),
    "is a foreign table, or has one among": (
        f"{FOREIGN} {BASE}); CREATE FOREIGN TABLE child () INHERITS (visits)"
        " SERVER files OPTIONS (filename '/dev/null')"
    ),
    "has row-level security": (
        f"{BASE}); CREATE POLICY few ON visits USING (1 / person > 0);"
        " ALTER TABLE visits ENABLE ROW LEVEL SECURITY"
    ),
    "has a generated column, 'more'": (
        f"{BASE}, more bigint GENERATED ALWAYS AS (person + 1) STORED)"
    ),
    "has a column of a domain, 'ward'": (
        "CREATE DOMAIN short AS text CHECK (length(value) < 9);"
        " CREATE TABLE visits (person bigint, ward short)"
    ),
    "has a column of an enum, whose labels are data, 'ward'": (
        "CREATE TYPE place AS ENUM ('a', 'b'); CREATE TABLE visits (person bigint, ward place)"
    ),
    "has a column with an ICU collation, 'ward'": (
        'CREATE TABLE visits (person bigint, ward text COLLATE "en-x-icu")'
    ),
}


@pytest.mark.parametrize("reason", ON_POSTGRES)
def test_what_computes_in_postgresql_is_not_served_in_place(
    reason: str, owner: psycopg.Connection
) -> None:
    owner.execute(ON_POSTGRES[reason].encode())
    [told] = read(owner)
    assert told.startswith(f"'visits' {reason}")
    assert told.endswith("Make a copy: run `tacit prepare visits`.")


def test_a_base_table_of_postgresql_is_plain(owner: psycopg.Connection) -> None:
    owner.execute(f"{BASE}) PARTITION BY LIST (person)".encode())
    owner.execute(b"CREATE TABLE part PARTITION OF visits DEFAULT")
    assert read(owner) == ()
