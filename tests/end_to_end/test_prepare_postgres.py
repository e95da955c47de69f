"""On PostgreSQL an owner's address makes the copy, and Tacit's own role reads it."""

from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from postgres_cluster import PostgresCluster
from prepared import QUESTION, ROWS, TEXT, done, edit, integers, part_of, told

from tacit.engines.postgres_role import QUIET, reader
from tacit.session.engines import read_project


@pytest.fixture
def served(tmp_path: Path, cluster: PostgresCluster) -> tuple[Path, str, str]:
    """A project over PostgreSQL, the address of the tables' owner, and the role that reads."""
    address = cluster.database(f"tacit_{uuid4().hex}")
    role = f"tacit_{uuid4().hex}"
    where = address.replace("postgres@", f"{role}@")
    file = tmp_path / "tacit.toml"
    file.write_text(TEXT.replace("ENGINE", f'kind = "postgres"\naddress = "{where}"'))
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(ROWS.encode())
        for statement in reader(role, read_project(file).catalog):
            owner.execute(statement.encode())
    done(file, "apply", "--yes")
    return file, address, role


def test_an_owner_prepares_and_the_role_reads(
    served: tuple[Path, str, str],
) -> None:
    file, address, role = served
    before = integers(file)
    making = ("prepare", "visits", "--where", "copies", "--by", "env:OWNER")
    assert "2/2" in done(file, *making, OWNER=address)
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute("DELETE FROM visits")
        assert integers(file) == before
        assert "is read row by row" in done(file, "ask", QUESTION, "--explain")
        part = part_of(file, 0)
        owner.execute(f"REVOKE SELECT ON copies.{part} FROM {role}".encode())  # noqa: S608
    refused = told(file, "ask", QUESTION, "--rho", "0.01")
    assert "Make it again: run `tacit prepare visits`" in refused
    done(file, "prepare", "visits", "--drop", "--by", "env:OWNER", OWNER=address)
    assert integers(file) == [[0, 0]] * len(before)


def test_nobody_else_may_read_a_copy(served: tuple[Path, str, str]) -> None:
    file, address, role = served
    other = f"other_{uuid4().hex}"
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {other}".encode())
        owner.execute("CREATE SCHEMA copies")
        given = "ALTER DEFAULT PRIVILEGES IN SCHEMA copies GRANT SELECT ON TABLES TO"
        owner.execute(f"{given} {other}, PUBLIC".encode())
        owner.execute("CREATE TABLE copies.open AS SELECT 1 AS n")
        done(file, "prepare", "visits", "--by", address)
        copy = part_of(file, 0)
        readers = {}
        for table in ("open", copy, part_of(file, 1), copy.removesuffix("_0")):
            found = owner.execute(
                "SELECT DISTINCT grantee FROM information_schema.role_table_grants"
                " WHERE table_schema = 'copies' AND table_name = %s",
                (table,),
            )
            readers[table] = {name for (name,) in found} - {"postgres"}
        assert readers.pop("open") == {other, "PUBLIC"}  # what a table gets by itself
    assert list(readers.values()) == [{role}] * 3


def test_a_reader_needs_no_right_to_the_table_itself(served: tuple[Path, str, str]) -> None:
    file, address, role = served
    before = integers(file)
    done(file, "prepare", "visits", "--by", address)
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(f"REVOKE ALL ON visits FROM {role}".encode())
    assert integers(file) == before


def test_a_copy_that_another_role_made_stays_and_the_new_one_is_in_use(
    served: tuple[Path, str, str],
) -> None:
    file, address, _ = served
    done(file, "prepare", "visits", "--by", address)
    old, maker = part_of(file, 0), f"maker_{uuid4().hex}"
    with psycopg.connect(address, autocommit=True) as owner:
        for statement in (
            f"CREATE ROLE {maker} LOGIN",
            f"GRANT SELECT ON visits TO {maker}",
            f"GRANT ALL ON SCHEMA copies TO {maker}",
            *(f"GRANT SET ON PARAMETER {setting} TO {maker}" for setting in QUIET),
        ):
            owner.execute(statement.encode())
    edit(file, '"2026-W46"  # each', '"2026-W47"  # each')
    done(file, "apply", "--yes")
    shown = done(file, "prepare", "visits", "--by", address.replace("postgres@", f"{maker}@"))
    assert "The new copy of visits is in use" in shown
    assert f"copies.{old}" in shown
    assert part_of(file, 0) != old
    assert sum(integers(file)[0]) > 0


def test_whoever_may_not_write_is_told_how(
    served: tuple[Path, str, str],
) -> None:
    file, address, role = served
    making, before = ("prepare", "visits", "--where", "copies"), file.read_text()
    assert "Use --by to name an address that may create" in told(file, *making)
    assert "is not set" in told(file, *making, "--by", "env:NONE")
    secret = told(file, *making, "--by", "postgresql://a:hunter2@h/d")
    assert "This file must not contain a password" in secret
    assert "hunter2" not in secret
    reading = address.replace("postgres@", f"{role}@")
    assert "PostgreSQL failed with ReadOnly" in told(file, *making, "--by", reading)
    plain = f"plain_{uuid4().hex}"
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {plain} LOGIN".encode())
    loud = told(file, *making, "--by", address.replace("postgres@", f"{plain}@"))
    assert "The server would log how the copy is made: log_min_error_statement" in loud
    files = told(file, "prepare", "visits", "--where", "copies.duckdb", "--by", address)
    assert "a schema of the same database" in files
    assert file.read_text() == before


def test_the_log_does_not_hold_how_a_copy_is_made(
    served: tuple[Path, str, str], cluster: PostgresCluster
) -> None:
    file, address, _ = served
    schema, database = f"copies_{uuid4().hex}", address.rpartition("/")[2]
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(f"ALTER DATABASE {database} SET log_statement = 'all'".encode())
    done(file, "prepare", "visits", "--where", schema, "--by", address)
    with psycopg.connect(address) as owner:
        owner.execute(f"CREATE TABLE {schema}.loud ()".encode())
    log = cluster.log.read_text()
    assert f"CREATE TABLE {schema}.loud" in log
    assert f'"{schema}"' not in log
