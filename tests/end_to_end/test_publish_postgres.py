"""Publications as tables of a PostgreSQL schema: whole periods, once each, with a promise."""

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from threading import Thread
from uuid import uuid4

import psycopg
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from postgres_cluster import PostgresCluster
from test_publish import FIRST, WEEKS, opened, publication, session

from tacit.cli.main import main
from tacit.errors import InvalidValue
from tacit.publish.due_releases import run
from tacit.publish.postgres import schema_of
from tacit.publish.publication import Publications
from tacit.session.session import Session

__all__ = ["session"]

READ = "SELECT * FROM reports.visits ORDER BY week, ward DESC"


@pytest.fixture
def address(cluster: PostgresCluster) -> str:
    return cluster.database(f"bi_{uuid4().hex[:8]}")


@pytest.fixture
def reader(address: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(address, autocommit=True) as connection:
        yield connection


def ran(session: Session, folder: Path, address: str, days: int = 99) -> list[int]:
    made = publication()
    Publications(session.states).declare(made, session)
    with schema_of(address, "reports") as tables:
        steps = run(made, session, FIRST + timedelta(days=days), folder, tables(made))
        return [step.number for step in steps]


def test_the_table_is_that_of_the_files_with_the_promise_as_its_comment(
    session: Session, tmp_path: Path, address: str, reader: psycopg.Connection
) -> None:
    assert ran(session, tmp_path, address, days=15) == [0, 1]
    assert ran(session, tmp_path, address) == [2, 3, 4, 5]
    assert ran(session, tmp_path, address) == []
    found = reader.execute(READ)
    names = [column.name for column in found.description or ()]
    assert names == ["week", "ward", "n", "n_low", "n_high"]
    rows = found.fetchall()
    files = pq.read_table(tmp_path / "visits/table").sort_by([("week", "ascending")])
    told = sorted((str(row[0]), *row[1:]) for row in rows)
    assert told == sorted(tuple(row.values()) for row in files.to_pylist())
    [[said]] = reader.execute("SELECT obj_description('reports.visits'::regclass)").fetchall()
    assert "Policy: this is the loss of all 6 weeks together" in said


def test_a_period_that_is_lost_is_written_again_and_whole(
    session: Session, tmp_path: Path, address: str, reader: psycopg.Connection
) -> None:
    ran(session, tmp_path, address)
    before = reader.execute(READ).fetchall()
    reader.execute("DELETE FROM reports.visits WHERE week = '2026-01-12'")
    assert ran(session, tmp_path, address) == []
    assert reader.execute(READ).fetchall() == before


def whole(reader: psycopg.Connection) -> bool:
    """Whether each period that is there has both of its wards."""
    counts = reader.execute("SELECT count(*) FROM reports.visits GROUP BY week").fetchall()
    return all(count == (2,) for count in counts)


def test_half_a_period_is_never_there(
    session: Session, tmp_path: Path, address: str, reader: psycopg.Connection
) -> None:
    ran(session, tmp_path, address, days=8)
    # of the second week the first row is taken, and the second is refused
    broken = "ALTER TABLE reports.visits ADD CHECK (week < '2026-01-12' OR ward = 'north')"
    reader.execute(broken)
    with pytest.raises(InvalidValue, match="CheckViolation"):
        ran(session, tmp_path, address)
    assert len(reader.execute(READ).fetchall()) == 2
    assert whole(reader)
    reader.execute("ALTER TABLE reports.visits DROP CONSTRAINT visits_check")
    ran(session, tmp_path, address)
    assert len(reader.execute(READ).fetchall()) == 2 * WEEKS
    assert whole(reader)
    reader.execute("DELETE FROM reports.visits WHERE ward = 'north' AND week = '2026-01-12'")
    assert not whole(reader)


def test_schedulers_at_once_write_each_period_once(
    tmp_path: Path, address: str, reader: psycopg.Connection
) -> None:
    opened(tmp_path).close()
    failed: list[BaseException] = []

    def schedule(place: int) -> None:
        try:
            with opened(tmp_path) as session:
                ran(session, tmp_path / str(place), address)
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)

    threads = [Thread(target=schedule, args=(place,)) for place in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert reader.execute("SELECT count(*) FROM reports.visits").fetchall() == [(2 * WEEKS,)]


def test_another_table_of_that_name_is_not_written_into(
    session: Session, tmp_path: Path, address: str, reader: psycopg.Connection
) -> None:
    reader.execute("CREATE SCHEMA reports")
    reader.execute("CREATE TABLE reports.visits (week date, ward text)")
    with pytest.raises(InvalidValue, match="does not belong to this publication"):
        ran(session, tmp_path, address)


def test_a_server_that_is_not_there_is_told_without_its_address() -> None:
    with pytest.raises(InvalidValue) as told, schema_of("postgresql://u:hunter2@", "reports"):
        pass
    assert "hunter2" not in f"{told.value!r}{told.value.__cause__}{told.value.__context__}"


def test_an_address_is_named_and_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, reader: psycopg.Connection
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner(env={**os.environ, "TACIT_USER": "olga"})

    def tacit(*words: str) -> str:
        return runner.invoke(main, words).output

    tacit("demo")
    monkeypatch.chdir("tacit-demo")
    tacit(
        *(
            "publish",
            "declare",
            "visits",
            "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
        ),
        *("--day", "day", "--from", "2026-01-05", "--steps", "4", "--epsilon", "1"),
    )
    go = ("publish", "run", "--schema", "reports", "--today", "2026-01-20", "--database")
    assert "must be in an environment variable" in tacit(*go, address)
    assert "needs the variable REPORTS, which is not set" in tacit(*go, "env:REPORTS")
    monkeypatch.setenv("REPORTS", address)
    assert tacit(*go, "env:REPORTS").count("released") == 2
    assert len(reader.execute(READ).fetchall()) == 8
